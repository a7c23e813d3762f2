/** Where a receiver's secrets come from: given once, or asked for and kept. */
import { type Secret, type SigningKey, signingKeys } from "./secret.ts";

export type SecretOption =
  | Secret
  | readonly Secret[]
  | (() => Secret | readonly Secret[] | Promise<Secret | readonly Secret[]>);

export interface SecretSource {
  /** @throws {TypeError} when the function gave no usable secret, or whatever the function threw. */
  current(): Promise<readonly SigningKey[]>;
  /** Asks again after a mismatch, at most every 30 s. Undefined when it is too early or the secrets are fixed. */
  renewed(nowMs: number): Promise<readonly SigningKey[]> | undefined;
}

/** Anybody can cause a mismatch, so a mismatch may not cost a look-up each. */
const minimumRenewalMs = 30_000;

export function secretSource(option: SecretOption): SecretSource {
  if (typeof option !== "function") {
    const keys = Promise.resolve(signingKeys(option));
    return { current: () => keys, renewed: () => undefined };
  }
  let keys: Promise<readonly SigningKey[]> | undefined;
  let renewedAtMs = Number.NEGATIVE_INFINITY;

  const ask = async () => signingKeys(await option());
  function current() {
    keys ??= ask().catch((error) => {
      keys = undefined; // a failed look-up is not kept
      throw error;
    });
    return keys;
  }
  return {
    current,
    renewed(nowMs) {
      if (nowMs - renewedAtMs < minimumRenewalMs) return undefined;
      renewedAtMs = nowMs;
      const before = keys;
      keys = ask().catch((error) => {
        keys = before;
        throw error;
      });
      return keys;
    },
  };
}

/** Where a receiver's secrets come from: given once, or asked for and kept. */
import { type Secret, type SigningKey, signingKeys } from "./secret.ts";

/** A secret, several, or a function that finds them: asked once, and again after a mismatch, at most every 30 seconds. */
export type SecretOption =
  | Secret
  | readonly Secret[]
  | (() => Secret | readonly Secret[] | Promise<Secret | readonly Secret[]>);

type Keys = readonly SigningKey[];

export interface SecretSource {
  /** Rejects when the function gave no usable secret. May take as long as the function does; what is known is there at once. */
  current(nowMs: number): Keys | Promise<Keys>;
  /** Asks again after a mismatch. Undefined when it is too early, the secrets are fixed, or nothing new came. */
  renewed(nowMs: number): Promise<Keys | undefined>;
}

/** Anybody can cause a mismatch, so a mismatch may not cost a look-up each. */
const renewalPauseMs = 30_000;
/** Nor may a look-up that fails be repeated for every request. */
const failurePauseMs = 1_000;

export function secretSource(option: SecretOption): SecretSource {
  if (typeof option !== "function") {
    const keys = signingKeys(option);
    return { current: () => keys, renewed: async () => undefined };
  }
  /** The last ones that were found: they count until a look-up brings others. */
  let known: Keys | undefined;
  let underWay: Promise<Keys> | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let renewedAtMs = Number.NEGATIVE_INFINITY;

  async function ask(nowMs: number): Promise<Keys> {
    try {
      known = signingKeys(await (option as () => Promise<Secret>)());
      return known;
    } catch (error) {
      failedAtMs = nowMs;
      throw error;
    }
  }

  /** One look-up at a time, shared by everybody who waits for it. */
  function look(nowMs: number): Promise<Keys> {
    // Freed from outside: a function that throws at once has ended before it is under way.
    underWay ??= ask(nowMs).finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  return {
    current(nowMs) {
      if (known !== undefined) return known;
      if (nowMs - failedAtMs < failurePauseMs) {
        throw new TypeError("The secret function failed a moment ago.");
      }
      return look(nowMs);
    },
    async renewed(nowMs) {
      if (underWay === undefined) {
        if (nowMs - renewedAtMs < renewalPauseMs) return undefined;
        renewedAtMs = nowMs;
      }
      return look(nowMs).catch(() => undefined);
    },
  };
}

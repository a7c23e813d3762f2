/** Where a receiver's secrets come from: given once, or looked up, and looked up again before they are too old. */
import { type Secret, type SigningKey, signingKeys } from "./secret.ts";

/**
 * A secret, several, or a function that looks them up. Its result is kept for `secretMaxAgeSeconds`, and asked for again after a
 * mismatch, at most every 30 seconds.
 */
export type SecretOption =
  | Secret
  | readonly Secret[]
  | (() => Secret | readonly Secret[] | Promise<Secret | readonly Secret[]>);

type Keys = readonly SigningKey[];

export interface SecretSource {
  /** What is known and not too old is there at once; else it takes as long as the function does, and rejects when that gave no usable secret. */
  current(): Keys | Promise<Keys>;
  /** Asks again after a mismatch. Undefined when it is too early, the secrets are fixed, or nothing new came. */
  renewed(): Promise<Keys | undefined>;
}

export interface SecretSourceOptions {
  maxAgeMs: number;
  /** Milliseconds by a clock that is never set. */
  monotonicNow: () => number;
}

/** Anybody can cause a mismatch, so a mismatch may not cost a look-up each. */
const renewalPauseMs = 30_000;
/** Nor may a look-up that fails be repeated for every request. */
const failurePauseMs = 1_000;
/** A look-up that takes longer is given up, because one that hangs would hold up all that follow. */
const lookUpLimitMs = 10_000;
/** The share of its age after which a result is renewed in the background, so that deliveries rarely wait for it. */
const earlyShare = 0.8;

export function secretSource(option: SecretOption, options: SecretSourceOptions): SecretSource {
  if (typeof option !== "function") {
    const keys = signingKeys(option);
    return { current: () => keys, renewed: async () => undefined };
  }
  const { maxAgeMs, monotonicNow } = options;
  /** A result is as old as its question: the secret may have been replaced while the answer was on its way. */
  let known: { keys: Keys; askedAtMs: number } | undefined;
  let underWay: { keys: Promise<Keys>; askedAtMs: number } | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let renewedAtMs = Number.NEGATIVE_INFINITY;

  async function ask(askedAtMs: number): Promise<Keys> {
    try {
      const keys = signingKeys(await (option as () => Promise<Secret>)());
      if (known === undefined || known.askedAtMs <= askedAtMs) known = { keys, askedAtMs };
      return keys;
    } catch (error) {
      failedAtMs = monotonicNow();
      throw error;
    }
  }

  const isUnderWay = (nowMs: number) => underWay !== undefined && nowMs - underWay.askedAtMs < lookUpLimitMs;

  /** One look-up at a time, shared by everybody who waits for it. */
  function look(nowMs: number): Promise<Keys> {
    if (underWay === undefined || !isUnderWay(nowMs)) {
      const own = { keys: ask(nowMs), askedAtMs: nowMs };
      const free = () => {
        if (underWay === own) underWay = undefined;
      };
      own.keys.then(free, free);
      underWay = own;
    }
    return underWay.keys;
  }

  return {
    current() {
      const nowMs = monotonicNow();
      const hasJustFailed = nowMs - failedAtMs < failurePauseMs;
      const ageMs = known === undefined ? Number.POSITIVE_INFINITY : nowMs - known.askedAtMs;
      if (known !== undefined && ageMs < maxAgeMs) {
        if (ageMs >= maxAgeMs * earlyShare && !hasJustFailed) look(nowMs).catch(() => {});
        return known.keys;
      }
      if (hasJustFailed) throw new TypeError("The secret function failed a moment ago.");
      return look(nowMs);
    },
    async renewed() {
      const nowMs = monotonicNow();
      if (!isUnderWay(nowMs)) {
        if (nowMs - renewedAtMs < renewalPauseMs) return undefined;
        renewedAtMs = nowMs;
      }
      return look(nowMs).catch(() => undefined);
    },
  };
}

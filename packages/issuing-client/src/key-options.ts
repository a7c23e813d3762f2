/**
 * The options of `issueCard` that decide about the key, and the 24 hours for which the service
 * stores it.
 */
import type { KeyedRequest } from "@loyalty-cards/internal/issuing-steps";
import {
  earliestAttemptMs,
  keyLifetimeMs,
  maxClockDifferenceMs,
} from "@loyalty-cards/internal/key-retention";
import type { OptionNames } from "@loyalty-cards/internal/nearest-name";
import { configurationError, IssuingError } from "./errors.ts";
import type { IdempotencyKeyInput, UserId } from "./idempotency.ts";

interface OptionsOfEveryKey {
  /**
   * When you first used this key. The call fails with `idempotency-expired` when the service may
   * have forgotten the key. With this option a 409 or 423 means that the earlier attempt may still
   * be running: it is retried until the deadline, not for 5 s only.
   */
  firstAttemptAt?: Date | number;
}

interface OptionsWithUserId extends OptionsOfEveryKey {
  /**
   * Your own user's id. The Idempotency-Key is derived from it, the template's id and the client's
   * `idempotencyNamespace`.
   */
  userId: UserId;
  /**
   * Part of the derived key. Change it to issue another card to the same user, or to send a
   * corrected form after a stored 422.
   */
  keySuffix?: string;
  idempotencyKey?: never;
}

/** There is no `userId?: never`, so that the compiler names `userId` when it may be undefined. */
interface OptionsWithIdempotencyKey extends OptionsOfEveryKey {
  /** Your own key, instead of `userId`: 1 to 255 visible ASCII characters, without spaces. */
  idempotencyKey: string;
}

/** The options of `issueCard` that decide about the key. */
export type KeyOptions = OptionsWithUserId | OptionsWithIdempotencyKey;

export const keyOptionNames = {
  userId: true,
  keySuffix: true,
  idempotencyKey: true,
  firstAttemptAt: true,
} satisfies OptionNames<KeyOptions>;

/** The caller's own key, or what the key is derived from. */
type GivenKey = string | Pick<IdempotencyKeyInput, "userId" | "keySuffix">;

/**
 * @returns the key, and how long ago it was used first: 0 before its first use.
 * @throws {IssuingError} `configuration` when `userId` and `idempotencyKey` are both set or neither
 * is, when an option is present but undefined, and for an invalid key or `firstAttemptAt`.
 */
export function parseKeyOptions(
  options: KeyOptions,
  nowMs: number,
): { key: GivenKey; keyAgeMs: number } {
  for (const name of ["idempotencyKey", "firstAttemptAt"] as const)
    if (name in options && options[name] === undefined)
      throw configurationError(
        `${name} is present but undefined: set it before this call, or leave it out.`,
      );
  const key = parseKey(options);
  const { firstAttemptAt } = options;
  const keyAgeMs = firstAttemptAt === undefined ? 0 : parseKeyAge(Number(firstAttemptAt), nowMs);
  return { key, keyAgeMs };
}

function parseKey(options: KeyOptions): GivenKey {
  const { idempotencyKey } = options;
  if (idempotencyKey === undefined) {
    if (!("userId" in options))
      throw configurationError(
        "issueCard needs userId or idempotencyKey: pass { userId: user.id }, the id of your own user. Without one of them a repeated call would issue another card.",
      );
    // The derivation rejects what is present but undefined.
    const { userId, keySuffix } = options as Required<OptionsWithUserId>;
    return "keySuffix" in options ? { userId, keySuffix } : { userId };
  }
  if ("userId" in options || "keySuffix" in options)
    throw configurationError(
      "Set userId or idempotencyKey, not both: the key is derived from the user's id and keySuffix.",
    );
  return parseIdempotencyKey(idempotencyKey);
}

/**
 * @throws {IssuingError} `configuration`, without the key: it can be a secret that was pasted by
 * mistake.
 */
export function parseIdempotencyKey(key: unknown): string {
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw configurationError(
    "idempotencyKey must be 1 to 255 visible ASCII characters, without spaces.",
  );
}

/** @throws {IssuingError} `configuration` for a `firstAttemptAt` that is not a time in the past. */
function parseKeyAge(firstAttemptAt: number, nowMs: number): number {
  if (firstAttemptAt >= earliestAttemptMs && firstAttemptAt <= nowMs + maxClockDifferenceMs)
    return nowMs - firstAttemptAt;
  throw configurationError(
    "firstAttemptAt must be a Date or a time in milliseconds, after 2000 and not in the future. A time in seconds is in 1970.",
  );
}

/**
 * Returns how long the key may still be used, in milliseconds.
 * @throws {IssuingError} `idempotency-expired` when the service may have forgotten the key: the
 * call could issue a second card.
 */
export function getRemainingRetentionMs({ keyAgeMs, idempotencyKey }: KeyedRequest): number {
  const remainingMs = keyLifetimeMs - keyAgeMs;
  if (remainingMs > 0) return remainingMs;
  throw new IssuingError(
    "The first attempt was 24 hours ago: the service may have forgotten the key, and a new attempt could issue a second card. Look for the card first.",
    { code: "idempotency-expired", outcome: "unknown", idempotencyKey },
  );
}

/** How long an idempotency key can be used, and when its first attempt can have been. */

/**
 * How long the service stores a key ([spec
 * 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
export const keyRetentionMs = 24 * 3_600_000;

/**
 * How long after its first attempt a key may be used: a minute less, because clocks differ and a
 * request takes time.
 */
export const keyLifetimeMs = keyRetentionMs - 60_000;

/** By how much the clock that took `firstAttemptAt` may be ahead of this one. */
const maxClockDifferenceMs = 60_000;

/** No attempt is earlier: a time in seconds, read as milliseconds, is in 1970. */
const earliestAttemptMs = Date.UTC(2001, 0, 1);

/** Whether a first attempt can have begun at this time. */
export const isAttemptTime = (atMs: number, nowMs: number): boolean =>
  atMs >= earliestAttemptMs && atMs <= nowMs + maxClockDifferenceMs;

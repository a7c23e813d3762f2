/** How long events are remembered. */

/**
 * After this time the service has ended its retries: 8 h 36 min of pauses and a minute of responses
 * ([spec 3.2](https://loyalty-cards.github.io/loyalty-cards/specification#spec-3-2), [8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
const retryHorizonSeconds = 8 * 3600 + 37 * 60;

/** @throws {TypeError} for a retention under which a late duplicate would be processed as a new event. */
export function validateRetention(seconds: unknown = 14 * 24 * 3600): number {
  if (typeof seconds === "number" && seconds >= retryHorizonSeconds) return seconds;
  throw new TypeError(
    `retentionSeconds is ${String(seconds)}; it must be at least ${retryHorizonSeconds} seconds (8 h 37 min), because the ` +
      "service delivers an event again for that long, and a forgotten event would be processed twice.",
  );
}

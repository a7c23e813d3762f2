/** How long an event must be remembered so that every copy the service may still send is known. */

/** The service's last retry has been answered by then: 8 h 36 min of pauses and a minute of answers (spec 3.2, 8). */
export const retryHorizonSeconds = 8 * 3600 + 37 * 60;

export const defaultRetentionSeconds = 14 * 24 * 3600;

/** @throws {TypeError} for a retention under which a late copy would be taken for a new event. */
export function checkedRetention(name: string, seconds: unknown): number {
  if (typeof seconds === "number" && seconds >= retryHorizonSeconds) return seconds;
  throw new TypeError(
    `${name} is ${String(seconds)}; it must be at least ${retryHorizonSeconds} seconds (8 h 37 min), because the ` +
      "service sends an event again for that long, and a forgotten event would be handled twice.",
  );
}

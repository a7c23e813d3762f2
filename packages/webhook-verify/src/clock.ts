/** Reads a clock that the program gave, and refuses what would switch checks of time off. */

/** What a Date can hold, either way of 1970. */
const maxMs = 8.64e15;

/** Whether a clock returned a time. Every comparison with NaN is false, so without one no delivery would be stale. */
export const isTimeMs = (ms: unknown): ms is number => typeof ms === "number" && Math.abs(ms) <= maxMs;

/**
 * Reads the clock of an option.
 * @throws {TypeError} for a clock that is no function, or returns no time in milliseconds.
 */
export function readClock(name: string, clock: () => number): number {
  if (typeof clock !== "function") {
    throw new TypeError(`${name} must be a function that returns milliseconds, such as Date.now.`);
  }
  const ms: unknown = clock();
  if (isTimeMs(ms)) return ms;
  const given = typeof ms === "number" ? String(ms) : ms === null ? "null" : `a value of type ${typeof ms}`;
  throw new TypeError(
    `${name} must return milliseconds as a number, as Date.now does; it returned ${given}. For a Date write () => date.getTime().`,
  );
}

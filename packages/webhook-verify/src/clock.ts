/** Reads the clocks of options, and rejects those that would disable a check. */

/** The range of a Date, in milliseconds before and after 1970. */
const maxMs = 8.64e15;

/** Whether a clock returned a time. With NaN no delivery would be stale, because every comparison with it is false. */
export const isTimeMs = (ms: unknown): ms is number => typeof ms === "number" && Math.abs(ms) <= maxMs;

/** @throws {TypeError} for a clock that is not a function, or does not return milliseconds. */
export function readClock(name: string, clock: () => number): number {
  if (typeof clock !== "function") {
    throw new TypeError(`${name} must be a function that returns milliseconds, such as Date.now.`);
  }
  const ms: unknown = clock();
  if (isTimeMs(ms)) return ms;
  const returned = ms === null || typeof ms === "number" ? String(ms) : `a value of type ${typeof ms}`;
  throw new TypeError(
    `${name} must return milliseconds as a number, as Date.now does; it returned ${returned}. For a Date write () => date.getTime().`,
  );
}

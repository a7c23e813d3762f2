/** Checks a number that somebody chose, where it is given. */
export function checkedNumber(
  name: string,
  value: unknown,
  least = 1,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (typeof value === "number" && value >= least && value <= most) return value;
  throw new TypeError(`${name} must be a number from ${least} to ${most}; it is ${String(value)}.`);
}

/** What a timer can hold, in milliseconds. */
export const longestTimerMs = 2 ** 31 - 1;

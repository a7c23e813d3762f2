/** Spans of time as people write them: "90s", "5m", "6h", "1d". */

export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const unitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A thousand years; dates end at some time after. */
const longestMs = 1000 * 365 * unitsMs.d;

/** @returns milliseconds. A bare number is milliseconds already. @throws {RangeError} for what is not a span of 0 or more. */
export function durationMs(duration: Duration): number {
  if (typeof duration === "number") {
    if (duration >= 0 && duration <= longestMs) return duration;
  } else {
    const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration);
    const ms = parts === null ? Number.NaN : Number(parts[1]) * unitsMs[parts[2] as keyof typeof unitsMs];
    if (ms <= longestMs) return ms;
  }
  throw new RangeError(`"${duration}" is not a duration: write "90s", "5m", "6h", "1d" or milliseconds.`);
}

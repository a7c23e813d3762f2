/** When a delivery that failed is tried again (spec 3.2). */

/** 1 minute, 5 minutes, 30 minutes, 2 hours, 6 hours; each after the failure before. */
export const pausesMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000];

/** The moment of the next attempt, or undefined when that was the last one. */
export function nextAttemptAtMs(failures: number, failedAtMs: number): number | undefined {
  const pauseMs = pausesMs[failures - 1];
  return pauseMs === undefined ? undefined : failedAtMs + pauseMs;
}

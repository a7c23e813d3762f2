/** The delay before the next attempt of a job, which doubles with each attempt, with jitter. */

export interface Backoff {
  initialDelayMs: number;
  maxDelayMs: number;
}

/** With more doublings the delay would not be a finite number. */
const maxDoublings = 40;

/** @param attempts how many were made: 1 or more. */
export function getBackoffMs(
  attempts: number,
  { initialDelayMs, maxDelayMs }: Backoff,
  random: () => number,
): number {
  const doublings = Math.min(attempts - 1, maxDoublings);
  return withJitter(Math.min(maxDelayMs, initialDelayMs * 2 ** doublings), random);
}

/**
 * Shortens a delay by up to a quarter at random, so that jobs that failed together are not retried
 * together.
 */
export const withJitter = (ms: number, random: () => number): number =>
  Math.round(ms * (0.75 + random() / 4));

/** When an event whose handler failed is tried again: policy as data, obeyed by the worker. */

export interface Backoff {
  /** The pause after the first failure; each later one is twice as long. Default 1 000. */
  firstMs: number;
  /** No pause is longer. Default one hour. */
  mostMs: number;
}

/** With 25 attempts this goes on for seven to thirteen hours: about as long as the service itself would. */
export const defaultBackoff: Backoff = { firstMs: 1_000, mostMs: 3_600_000 };

/** Between half and all of the pause, so that what failed together does not come back together. */
export function pauseMs({ firstMs, mostMs }: Backoff, failures: number, random: () => number): number {
  const fullMs = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.round(fullMs * (0.5 + random() / 2));
}

/** The delivery queue: pending deliveries in the order in which their next attempts are due. */
import type { Delivery } from "../domain/state.ts";

/** @param nowMs the time of the service. */
export function createQueue(nowMs: () => number) {
  /** The entries, sorted by time; those of one time are in the order in which they were added. */
  const entries: { delivery: Delivery; dueAtMs: number }[] = [];

  /** When the next attempt is due. Removes entries whose delivery was rescheduled. */
  function getNextMs(): number | undefined {
    for (let [next] = entries; next !== undefined; [next] = entries) {
      if (Date.parse(next.delivery.nextAttemptAt ?? "") === next.dueAtMs) return next.dueAtMs;
      entries.shift();
    }
    return undefined;
  }

  return {
    getNextMs,
    add(delivery: Delivery, dueAtMs: number): void {
      // The search begins at the end, because most are due last.
      const before = entries.findLastIndex((entry) => entry.dueAtMs <= dueAtMs);
      entries.splice(before + 1, 0, { delivery, dueAtMs });
    },
    /** Removes and returns the next delivery, when its attempt is due. */
    takeDue(): Delivery | undefined {
      const nextMs = getNextMs();
      const isDue = nextMs !== undefined && nextMs <= nowMs();
      return isDue ? entries.shift()?.delivery : undefined;
    },
    clear(): void {
      entries.length = 0;
    },
  };
}

/** Remembers which events were taken over, in three states, so that a duplicate is never acknowledged too early. */

import { readClock } from "./clock.ts";

/**
 * Where event ids are remembered. A duplicate may be answered 2xx only when the first copy is `done`:
 * while it is `in-progress` it can still fail, and then the duplicate is the only copy left.
 */
export interface DedupeStore {
  /** Claims an id, or tells what became of the claim before. */
  begin(eventId: string): "new" | "in-progress" | "done" | Promise<"new" | "in-progress" | "done">;
  /** The event is safely taken over. */
  complete(eventId: string): void | Promise<void>;
  /** Taking it over failed; the next copy is new. */
  abandon(eventId: string): void | Promise<void>;
}

/** How much is remembered, and for how long. */
export interface MemoryDedupeOptions {
  /** How many ids are kept; the oldest are forgotten first. Default 10 000. */
  maxEntries?: number;
  /** How long an id is kept. Default 7 days; the last retry comes 8 h 36 min after the first attempt. */
  ttlSeconds?: number;
  /** How long a claim holds when it is neither completed nor abandoned, because a handler hangs. Default 300. */
  claimSeconds?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. */
  now?: () => number;
}

/**
 * Remembers ids in this process. Two processes, or a restart, need a shared store or an inbox.
 * @throws {TypeError} for a number that is not positive, and a `now` that returns no milliseconds.
 * @example
 * ```ts
 * import { memoryDedupe } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 *
 * export const receive = fetchReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   dedupe: memoryDedupe(), // the second delivery of an event gets 204 and calls nothing
 *   accept: ({ id }) => console.log(id),
 * });
 * ```
 */
export function memoryDedupe(options: MemoryDedupeOptions = {}): DedupeStore {
  const {
    maxEntries = 10_000,
    ttlSeconds = 7 * 24 * 3600,
    claimSeconds = 300,
    now: clock = Date.now,
  } = options;
  positive("maxEntries", maxEntries);
  positive("ttlSeconds", ttlSeconds);
  positive("claimSeconds", claimSeconds);
  const now = () => readClock("now", clock);
  now(); // a mistake shows here, not with the first event
  const claimedUntilMs = new Map<string, number>();
  const doneUntilMs = new Map<string, number>(); // in order of completion, so the first one is the oldest

  return {
    begin(eventId) {
      if (now() < (claimedUntilMs.get(eventId) ?? Number.NEGATIVE_INFINITY)) return "in-progress";
      const untilMs = doneUntilMs.get(eventId);
      if (untilMs !== undefined && now() < untilMs) return "done";
      doneUntilMs.delete(eventId);
      claimedUntilMs.set(eventId, now() + claimSeconds * 1000);
      return "new";
    },
    complete(eventId) {
      claimedUntilMs.delete(eventId);
      doneUntilMs.set(eventId, now() + ttlSeconds * 1000);
      for (const [oldest, untilMs] of doneUntilMs) {
        if (doneUntilMs.size <= maxEntries && now() < untilMs) break;
        doneUntilMs.delete(oldest);
      }
    },
    abandon(eventId) {
      claimedUntilMs.delete(eventId);
    },
  };
}

function positive(name: string, value: number): void {
  if (!(Number.isFinite(value) && value > 0))
    throw new TypeError(`${name} must be a positive number; it is ${value}.`);
}

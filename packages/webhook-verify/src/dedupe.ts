/**
 * Deduplication: accepts each event once, and never acknowledges a duplicate whose first delivery
 * can still fail.
 */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { formatType } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { requirePositive } from "@loyalty-cards/internal/limits";

/**
 * Stores the ids of events, each of which may be delivered twice ([spec
 * 6.3.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-3)). A duplicate is
 * acknowledged only when the first delivery is `done`: while that is `in-progress` it can still
 * fail, and then the duplicate is needed.
 */
export interface DedupeStore {
  /**
   * Claims an id, or returns the state of the earlier claim. A claim must end by itself, soon after
   * five minutes and not before: nothing releases it when its process ends or its handler fails
   * later, and the service stops delivering after 8 h 36 min.
   */
  claim(eventId: string): "new" | "in-progress" | "done" | Promise<"new" | "in-progress" | "done">;
  /** Called when the event was accepted: the id is `done`. */
  complete(eventId: string): void | Promise<void>;
  /**
   * Called when the event could not be accepted: the next delivery is `new`. Not called once five
   * minutes have passed since the claim, because another delivery may have the id then.
   */
  release(eventId: string): void | Promise<void>;
}

/** How long a claim lasts when its handler hangs. */
const leaseMs = 300_000;

/**
 * Handles an event unless it is a duplicate, and completes its claim, or releases it for the next
 * delivery of the event.
 * @param eventId it is signed, unlike the headers (spec 6.3.3).
 */
export async function handleOnce<Accepted>(
  eventId: string,
  handle: () => Promise<Accepted>,
  { dedupe, clock }: { dedupe: DedupeStore; clock: { monotonicMs(): number } },
): Promise<Accepted | "duplicate" | "in-progress"> {
  const leaseEndsMs = clock.monotonicMs() + leaseMs;
  const state = await dedupe.claim(eventId);
  if (state === "done") return "duplicate";
  if (state === "in-progress") return state;
  if (state !== "new")
    throw createTypeError(
      `dedupe.claim must return "new", "in-progress" or "done"; it returned ${formatType(state)}.`,
    );
  try {
    const accepted = await handle();
    await dedupe.complete(eventId);
    return accepted;
  } catch (error) {
    try {
      // Later, another delivery may have claimed the id.
      if (clock.monotonicMs() < leaseEndsMs) await dedupe.release(eventId);
    } catch {
      // The store fails too: the claim ends after its time.
    }
    throw error;
  }
}

/** How many ids to store, and for how long. */
interface MemoryDedupeOptions {
  /** At most this many ids are stored; the oldest are removed first. Default 10 000. */
  maxEntries?: number;
  /**
   * How long an id is stored, in seconds. Default 7 days; the last retry follows 8 h 36 min after
   * the first attempt.
   */
  ttlSeconds?: number;
  /** Set by tests only. */
  testing?: {
    clock?: { /** The current time in milliseconds. Default `Date.now`. */ now(): number };
  };
}

const optionNames = {
  maxEntries: true,
  ttlSeconds: true,
  testing: true,
} satisfies OptionNames<MemoryDedupeOptions>;

type Testing = NonNullable<MemoryDedupeOptions["testing"]>;
const testingNames = { clock: true } satisfies OptionNames<Testing>;

/**
 * Stores ids in the memory of this process. For several processes, or across a restart, use a
 * shared store or an inbox.
 * @throws {TypeError} for a number that is not positive, and for an unknown option.
 * @example
 * ```ts
 * import { memoryDedupe } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 *
 * export const receive = fetchReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET,
 *   dedupe: memoryDedupe(), // the second delivery of an event responds 204 and calls nothing
 *   handler: ({ id }) => console.log(id),
 * });
 * ```
 */
export function memoryDedupe(options: MemoryDedupeOptions = {}): DedupeStore {
  requireKnownNames("memoryDedupe", options, optionNames);
  const { maxEntries = 10_000, ttlSeconds = 7 * 24 * 3600, testing = {} } = options;
  requireKnownNames("testing of memoryDedupe", testing, testingNames);
  requirePositive("maxEntries", maxEntries);
  requirePositive("ttlSeconds", ttlSeconds);
  const { clock = Date } = testing;
  const claimedUntilMs = new Map<string, number>();
  /** The end of storage of each id, in order of completion: the first one is the oldest. */
  const doneUntilMs = new Map<string, number>();

  return {
    claim(eventId) {
      const nowMs = clock.now();
      if (nowMs < (claimedUntilMs.get(eventId) ?? Number.NEGATIVE_INFINITY)) return "in-progress";
      if (nowMs < (doneUntilMs.get(eventId) ?? Number.NEGATIVE_INFINITY)) return "done";
      doneUntilMs.delete(eventId);
      claimedUntilMs.set(eventId, nowMs + leaseMs);
      return "new";
    },
    complete(eventId) {
      claimedUntilMs.delete(eventId);
      const nowMs = clock.now();
      doneUntilMs.set(eventId, nowMs + ttlSeconds * 1000);
      for (const [oldest, untilMs] of doneUntilMs) {
        if (doneUntilMs.size <= maxEntries && nowMs < untilMs) break;
        doneUntilMs.delete(oldest);
      }
    },
    release: (eventId) => void claimedUntilMs.delete(eventId),
  };
}

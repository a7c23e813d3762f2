/**
 * What every inbox has: `replay`, and a `put` that stores a delivery, unless the receiver's signal
 * aborts first, and reports it.
 */
import { createTypeError } from "@loyalty-cards/internal/errors";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import type { Report } from "./outcomes.ts";
import { untilAborted } from "./until-aborted.ts";

/** An inbox whose dead letters can be processed again. */
export interface ReplayableInbox extends Inbox {
  /**
   * Gives a dead letter all of its attempts again, as a new delivery of the event does.
   * @returns false when the id is not a dead letter.
   */
  replay(eventId: string): Promise<boolean>;
}

/** @throws {TypeError} for anything but an id. */
export function requireEventId(id: unknown): void {
  if (typeof id === "string") return;
  throw createTypeError("inbox.replay takes the id of an event, a string: inbox.replay(event.id).");
}

/**
 * Wraps the `put` of an engine: measures and reports it, and rejects when the receiver's signal
 * aborts. `store` may ignore the signal, and store the event after that: then the next delivery is
 * its duplicate.
 */
export function createPut(
  report: Report,
  store: (...delivery: Parameters<Inbox["put"]>) => Promise<"stored" | "duplicate">,
): Inbox["put"] {
  return async (event, raw, options) => {
    if (raw?.body === undefined || options?.signal === undefined)
      throw createTypeError(
        "inbox.put takes (event, { body, receivedAt }, { signal }), which a receiver passes: use the option inbox of the receiver.",
      );
    const ref = { id: event.id, type: event.type };
    const startedMs = performance.now();
    const getDurationMs = () => performance.now() - startedMs;
    try {
      const outcome = await untilAborted(options.signal, () => store(event, raw, options));
      report({ outcome, event: ref, durationMs: getDurationMs() });
      return outcome;
    } catch (error) {
      report({ outcome: "not-stored", event: ref, durationMs: getDurationMs(), error });
      throw error;
    }
  };
}

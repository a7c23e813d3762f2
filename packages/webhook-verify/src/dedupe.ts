/** Deduplication: accepts each event once, and never acknowledges a duplicate whose first delivery can still fail. */
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { getFirstHeader, type HeadersLike } from "./body.ts";
import { readClock } from "./clock.ts";
import type { WebhookEvent } from "./event.ts";

/**
 * Stores the ids of events. A duplicate is acknowledged only when the first delivery is `done`: while that is `in-progress` it can
 * still fail, and then the duplicate is needed.
 */
export interface DedupeStore {
  /** Claims an id, or returns the state of the earlier claim. */
  begin(eventId: string): "new" | "in-progress" | "done" | Promise<"new" | "in-progress" | "done">;
  /** The event was accepted. */
  complete(eventId: string): void | Promise<void>;
  /** Accepting the event failed; the next delivery is `new`. */
  abandon(eventId: string): void | Promise<void>;
}

/** What is known of one delivery of an event. */
export interface Delivery {
  /** The `Service-Delivery` header. It is not signed: log it, but do not rely on it. */
  id: string | undefined;
  /** The verified bytes. */
  rawBody: Uint8Array;
  receivedAt: Date;
  /** Aborted when the response was sent because of the timeout. */
  signal: AbortSignal;
}

/** A delivery whose id and signal are created when they are used, because most handlers use neither. */
export class VerifiedDelivery implements Delivery {
  readonly rawBody: Uint8Array;
  readonly receivedAt: Date;
  readonly #headers: HeadersLike;
  #controller: AbortController | undefined;

  constructor(headers: HeadersLike, rawBody: Uint8Array, receivedAtMs: number) {
    this.#headers = headers;
    this.rawBody = rawBody;
    this.receivedAt = new Date(receivedAtMs);
  }

  get id(): string | undefined {
    return getFirstHeader(this.#headers, "service-delivery");
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(withSafeMessage(new Error("The receiver responded because of its timeout.")));
  }
}

/** A durable store for events. `put` resolves only when the event would survive a crash. */
export interface Inbox {
  put(
    event: WebhookEvent,
    raw: { body: Uint8Array; receivedAt: Date },
    options: { signal: AbortSignal },
  ): Promise<"stored" | "duplicate">;
}

export interface HandlingOptions {
  inbox?: Inbox;
  handler?: (event: WebhookEvent, delivery: Delivery) => unknown;
  dedupe?: DedupeStore;
}

export type HandlingResult =
  | { outcome: "verified" | "stored" | "duplicate" | "in-progress" }
  /** `error` is what `handler`, the inbox or the dedupe store threw. */
  | { outcome: "failed"; error: unknown };

/** Calls `handler`, once per event where the options say so. Never throws or rejects. Without a promise when there is nothing to wait for. */
export function handleOnce(
  options: HandlingOptions,
  event: WebhookEvent,
  delivery: Delivery,
): HandlingResult | Promise<HandlingResult> {
  const { inbox, handler, dedupe } = options;
  if (inbox !== undefined || dedupe !== undefined) return claimAndHandle(options, event, delivery);
  const fail = (error: unknown): HandlingResult => ({ outcome: "failed", error });
  try {
    const handled = handler?.(event, delivery);
    if (handled === undefined) return verified;
    return Promise.resolve(handled).then(() => verified, fail);
  } catch (error) {
    return fail(error);
  }
}

const verified: HandlingResult = { outcome: "verified" };

/** Claims the event, stores it and calls `handler`. Runs to its end after a timeout, so that the claim is released. */
async function claimAndHandle(
  { inbox, handler, dedupe }: HandlingOptions,
  event: WebhookEvent,
  delivery: Delivery,
): Promise<HandlingResult> {
  let claimed: DedupeStore | undefined;
  try {
    if (dedupe !== undefined) {
      const state = await dedupe.begin(event.id); // the signed id; headers are not signed (spec 6.3.3)
      if (state === "done") return { outcome: "duplicate" };
      if (state === "in-progress") return { outcome: state };
      claimed = dedupe;
    }
    const { rawBody: body, receivedAt } = delivery;
    const stored = inbox && (await inbox.put(event, { body, receivedAt }, { signal: delivery.signal }));
    // Also for a duplicate of the inbox: its first delivery may have failed in `handler`.
    const handled = handler?.(event, delivery);
    if (handled !== undefined) await handled;
    if (claimed) await claimed.complete(event.id);
    return { outcome: stored ?? "verified" };
  } catch (error) {
    try {
      await claimed?.abandon(event.id);
    } catch {
      // The store fails too; the claim ends with its lease.
    }
    return { outcome: "failed", error };
  }
}

/** How many ids are stored, and for how long. */
export interface MemoryDedupeOptions {
  /** At most this many ids are stored; the oldest are removed first. Default 10 000. */
  maxEntries?: number;
  /** How long an id is stored, in seconds. Default 7 days; the last retry follows 8 h 36 min after the first attempt. */
  ttlSeconds?: number;
  /** How long a claim lasts that is neither completed nor abandoned because a handler hangs, in seconds. Default 300. */
  leaseSeconds?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. */
  now?: () => number;
}

/**
 * Stores ids in the memory of this process. For several processes, or across a restart, use a shared store or an inbox.
 * @throws {TypeError} for a number that is not positive, and a `now` that does not return milliseconds.
 * @example
 * ```ts
 * import { memoryDedupe } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 *
 * export const receive = fetchReceiver({
 *   secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
 *   dedupe: memoryDedupe(), // the second delivery of an event responds 204 and calls nothing
 *   handler: ({ id }) => console.log(id),
 * });
 * ```
 */
export function memoryDedupe(options: MemoryDedupeOptions = {}): DedupeStore {
  const {
    maxEntries = 10_000,
    ttlSeconds = 7 * 24 * 3600,
    leaseSeconds = 300,
    now: clock = Date.now,
  } = options;
  requirePositive("maxEntries", maxEntries);
  requirePositive("ttlSeconds", ttlSeconds);
  requirePositive("leaseSeconds", leaseSeconds);
  const now = () => readClock("now", clock);
  now(); // reports an invalid clock here, not with the first event
  const claimedUntilMs = new Map<string, number>();
  const doneUntilMs = new Map<string, number>(); // in order of completion, so the first one is the oldest

  return {
    begin(eventId) {
      if (now() < (claimedUntilMs.get(eventId) ?? Number.NEGATIVE_INFINITY)) return "in-progress";
      const untilMs = doneUntilMs.get(eventId);
      if (untilMs !== undefined && now() < untilMs) return "done";
      doneUntilMs.delete(eventId);
      claimedUntilMs.set(eventId, now() + leaseSeconds * 1000);
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

function requirePositive(name: string, value: number): void {
  if (!(Number.isFinite(value) && value > 0))
    throw new TypeError(`${name} must be a positive number; it is ${value}.`);
}

/** One verified delivery: what a handler receives with the event, and how the event is claimed, stored and handled once. */
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { getFirstHeader, type HeadersLike } from "./body.ts";
import type { DedupeStore } from "./dedupe.ts";
import type { WebhookEvent } from "./event.ts";

/** What a handler receives with an event. */
export interface Delivery {
  /** The `Service-Delivery` header. It is not signed: log it, but do not rely on it. */
  id: string | undefined;
  /** The verified bytes. */
  rawBody: Uint8Array;
  receivedAt: Date;
  /** Aborted when the receiver responds because of its timeout. */
  signal: AbortSignal;
}

/** Creates the id and the signal of a delivery on first use, because most handlers use neither. */
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

/** What stores and handles an event before the response. */
export interface HandlingOptions {
  /** A durable store; the receiver responds when it has stored the event. */
  inbox?: Inbox;
  /** Called and awaited before the response; its result is ignored. When it rejects, the response is 503 and the service delivers again. */
  handler?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Stores event ids, so that `handler` and `afterResponse` are called once per event. */
  dedupe?: DedupeStore;
}

export type HandlingResult =
  | { outcome: "verified" | "stored" | "duplicate" | "in-progress" }
  /** `error` is what `handler`, the inbox or the dedupe store threw. */
  | { outcome: "failed"; error: unknown };

/**
 * Stores the event and calls `handler`; with `dedupe`, once per event. Never throws or rejects. Returns a promise only when
 * there is something to wait for.
 */
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
    return handled === undefined ? verified : Promise.resolve(handled).then(() => verified, fail);
  } catch (error) {
    return fail(error);
  }
}

const verified: HandlingResult = { outcome: "verified" };

/** Claims the event, stores it and calls `handler`. Continues after a timeout, so that the claim is released. */
async function claimAndHandle(
  { inbox, handler, dedupe }: HandlingOptions,
  event: WebhookEvent,
  delivery: Delivery,
): Promise<HandlingResult> {
  let claimed: DedupeStore | undefined;
  try {
    if (dedupe !== undefined) {
      const state = await dedupe.claim(event.id); // the signed id: headers are not signed (spec 6.3.3)
      if (state !== "new") return { outcome: state === "done" ? "duplicate" : "in-progress" };
      claimed = dedupe;
    }
    const { rawBody: body, receivedAt } = delivery;
    const stored = await inbox?.put(event, { body, receivedAt }, { signal: delivery.signal });
    await handler?.(event, delivery); // also for a duplicate: `handler` may have failed in its first delivery
    await claimed?.complete(event.id);
    return { outcome: stored ?? "verified" };
  } catch (error) {
    try {
      await claimed?.release(event.id);
    } catch {
      // The store fails too; the claim ends with its lease.
    }
    return { outcome: "failed", error };
  }
}

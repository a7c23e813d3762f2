/** Takes an event over before the answer, and knows of every copy whether it may be acknowledged. */
import type { DedupeStore } from "./dedupe.ts";
import type { WebhookEvent } from "./event.ts";

/** What is known of one arrival of an event. */
export interface Delivery {
  /** The `Service-Delivery` header. It is not signed: log it, decide nothing by it. */
  id: string | undefined;
  /** The verified bytes. */
  rawBody: Uint8Array;
  receivedAt: Date;
  /** Aborted when the answer had to go out without you. */
  signal: AbortSignal;
}

/** A durable store for events. It resolves only when the event would survive a crash. */
export interface Inbox {
  put(
    event: WebhookEvent,
    raw: { body: Uint8Array; receivedAt: Date },
    options: { signal: AbortSignal },
  ): Promise<"stored" | "duplicate">;
}

export interface TakeOverOptions {
  inbox?: Inbox;
  accept?: (event: WebhookEvent, delivery: Delivery) => unknown;
  dedupe?: DedupeStore;
}

export type TakenOver =
  | { state: "verified" | "stored" | "duplicate" | "in-progress" }
  /** `error` is what `accept`, the inbox or the dedupe store threw. */
  | { state: "failed"; error: unknown };

/** Never rejects. Goes on after the answer had to leave, so that its claim ends as done or abandoned. */
export async function takeOver(
  { inbox, accept, dedupe }: TakeOverOptions,
  event: WebhookEvent,
  delivery: Delivery,
): Promise<TakenOver> {
  let claim: DedupeStore | undefined;
  try {
    if (dedupe !== undefined) {
      const known = await dedupe.begin(event.id); // the signed id; headers are not signed (spec 6.3.3)
      if (known === "done") return { state: "duplicate" };
      if (known === "in-progress") return { state: known };
      claim = dedupe;
    }
    const { rawBody: body, receivedAt } = delivery;
    const stored = inbox && (await inbox.put(event, { body, receivedAt }, { signal: delivery.signal }));
    // Also for what the inbox knows: its first copy may have failed in `accept`. Only `dedupe` knows what was done.
    const accepted = accept?.(event, delivery);
    if (accepted !== undefined) await accepted;
    if (claim) await claim.complete(event.id);
    return { state: stored ?? "verified" };
  } catch (error) {
    if (claim) await abandon(claim, event.id);
    return { state: "failed", error };
  }
}

async function abandon(store: DedupeStore, eventId: string): Promise<void> {
  try {
    await store.abandon(eventId);
  } catch {
    // The store is as broken as the take-over; its own expiry has to free the claim.
  }
}

/** Calls the handler once, for as long as it may take, and keeps what it wants written. */
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { bytesOf, eventOf } from "../body-text.ts";
import type { SqliteDatabase } from "./database.ts";
import type { Claim } from "./store.ts";

/** One attempt at one event. It is a receiver's delivery too, so that `onEvents` fits. */
export interface SqliteDelivery extends Delivery {
  /** 1 for the first attempt. */
  attempt: number;
  /**
   * Keeps a synchronous function that writes to the inbox's own file. It runs after the handler, in the transaction
   * that marks the event as done: both stand, or neither.
   */
  write(work: (database: SqliteDatabase) => void): void;
}

/** Your work on one event. What it throws or rejects with brings the event again. */
export type SqliteHandler = (event: WebhookEvent, delivery: SqliteDelivery) => unknown;

/** @returns what is to be written, once the handler has ended well. @throws what it threw, or why it was aborted. */
export async function attempted(
  handler: SqliteHandler,
  claim: Claim,
  controller: AbortController,
  timeoutMs: number,
): Promise<((database: SqliteDatabase) => unknown)[]> {
  const { signal } = controller;
  const writes: ((database: SqliteDatabase) => unknown)[] = [];
  let isOver = false;
  const timeout = setTimeout(
    () => controller.abort(new Error(`The handler took longer than ${timeoutMs} ms.`)),
    timeoutMs,
  );
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const delivery: SqliteDelivery = {
    id: undefined,
    rawBody: bytesOf(claim.body),
    receivedAt: new Date(claim.receivedAtMs),
    signal,
    attempt: claim.attempt,
    write(work) {
      if (isOver)
        throw new Error("write was called after the handler had ended; await what comes before it.");
      writes.push(work);
    },
  };
  try {
    await Promise.race([Promise.resolve().then(() => handler(eventOf(claim.body), delivery)), aborted]);
    return writes;
  } finally {
    isOver = true;
    clearTimeout(timeout);
  }
}

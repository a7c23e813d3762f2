/** Plugs a handler of events into the workers of pg-boss and BullMQ. */
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { bytesOf, eventOf } from "./body-text.ts";
import { checkedJobData } from "./job.ts";
import { type ReportOptions, reporter } from "./outcome.ts";

/** One attempt at one event, as a queue's worker hands it over. */
export interface QueueDelivery extends Delivery {
  /** 1 for the first attempt; undefined where the queue does not tell. */
  attempt: number | undefined;
}

/** Your work on one event. What it throws or rejects with brings the event again. */
export type QueueHandler = (event: WebhookEvent, delivery: QueueDelivery) => unknown;

/** What pg-boss (in a list) and BullMQ hand to a worker. */
interface QueueJob {
  data: unknown;
  /** BullMQ */
  attemptsMade?: number;
  opts?: { attempts?: number };
  /** pg-boss 12, and 10 with `includeMetadata` */
  retryCount?: number;
  retryLimit?: number;
  signal?: AbortSignal;
}

/**
 * A function for `boss.work(queue, …)` and `new Worker(name, …)`. A queue delivers at least once: let the handler call
 * `markProcessed` in its transaction. pg-boss takes a list of jobs as one: where one fails, all of them come again.
 * @example
 * ```ts
 * import { inboxHandler } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { Worker } from "bullmq";
 *
 * const handler = inboxHandler(
 *   onEvents({
 *     "balance.changed": ({ data }, { attempt }) => console.log(data.balance, attempt),
 *     other: () => {},
 *   }),
 * );
 * export const worker = new Worker("loyalty", handler, { connection: { url: process.env.REDIS_URL ?? "" } });
 * ```
 */
export function inboxHandler(
  handler: QueueHandler,
  options: ReportOptions = {},
): (jobs: unknown, ...more: unknown[]) => Promise<void> {
  if (typeof handler !== "function")
    throw new TypeError("inboxHandler needs a handler: inboxHandler(onEvents({ … })).");
  const report = reporter(options);

  async function handle(job: QueueJob, signal: AbortSignal | undefined): Promise<void> {
    const { body, receivedAt: received } = checkedJobData(job.data);
    const event = eventOf(body);
    const name = { id: event.id, type: event.type };
    const attempt = attemptOf(job);
    const receivedAt = new Date(received);
    const startedMs = performance.now();
    const delivery: QueueDelivery = {
      id: undefined,
      rawBody: bytesOf(body),
      receivedAt,
      signal: job.signal ?? signal ?? new AbortController().signal,
      attempt,
    };
    try {
      await handler(event, delivery);
    } catch (error) {
      report({ outcome: isLast(job) ? "dead" : "failed", event: name, attempt: attempt ?? 1, error });
      throw error;
    }
    const lagMs = Math.max(0, Date.now() - receivedAt.getTime());
    report({
      outcome: "done",
      event: name,
      attempt: attempt ?? 1,
      durationMs: performance.now() - startedMs,
      lagMs,
    });
  }

  return async (jobs, ...more) => {
    const signal = more.find((value): value is AbortSignal => value instanceof AbortSignal);
    const list = (Array.isArray(jobs) ? jobs : [jobs]) as QueueJob[];
    const ends = await Promise.allSettled(list.map((job) => handle(job, signal)));
    const failure = ends.find((end) => end.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  };
}

function attemptOf({ attemptsMade, retryCount }: QueueJob): number | undefined {
  const before = attemptsMade ?? retryCount;
  return before === undefined ? undefined : before + 1;
}

function isLast({ attemptsMade, opts, retryCount, retryLimit }: QueueJob): boolean {
  if (attemptsMade !== undefined) return attemptsMade + 1 >= (opts?.attempts ?? 1);
  return retryCount !== undefined && retryLimit !== undefined && retryCount >= retryLimit;
}

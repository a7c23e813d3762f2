/**
 * `inboxHandler`: an event handler as the job handler of pg-boss and BullMQ. It reports each
 * attempt, and whether it was the last one: then the event is dead.
 */

import { createReturnedFunctionError, createTypeError } from "@loyalty-cards/internal/errors";
import { requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { createInboxReport, type ReportOptions, reportOptionNames } from "./outcomes.ts";
import { parseJobData, toBytes } from "./stored-event.ts";

/** One attempt at one event, as a queue's worker delivers it. */
export interface QueueDelivery extends Delivery {
  /** 1 for the first attempt; undefined where the queue does not report it. */
  attempt: number | undefined;
  /** The `source` of the inbox that stored the event. */
  source: string;
}

/** Your work on one event. If it throws or rejects, the queue retries the event. */
export type QueueHandler = (event: WebhookEvent, delivery: QueueDelivery) => unknown;

/** A job as pg-boss (in a list) and BullMQ pass it to a worker. */
interface QueueJob {
  data: unknown;
  /** BullMQ */
  attemptsMade?: number;
  opts?: { attempts?: number };
  /** pg-boss 12, and 11 with `includeMetadata` */
  retryCount?: number;
  /** pg-boss with `includeMetadata` */
  retryLimit?: number;
  signal?: AbortSignal;
}

/**
 * Creates a function for `boss.work(queue, …)` and `new Worker(name, …)`. A queue delivers at least
 * once: call `markProcessed` in the transaction of the handler. pg-boss completes or retries a list
 * of jobs as a whole: if one fails, all of them are retried.
 * @example
 * ```ts
 * import { inboxHandler } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { Worker } from "bullmq";
 *
 * const handler = inboxHandler(
 *   onEvents({
 *     ping: ({ id }, { attempt }) => console.log(id, attempt),
 *     otherTypes: () => {},
 *   }),
 * );
 * const connection = { url: process.env.REDIS_URL ?? "" };
 * export const worker = new Worker("loyalty", handler, { connection });
 * ```
 */
export function inboxHandler(
  handler: QueueHandler,
  options: ReportOptions = {},
): (jobs: unknown, ...more: unknown[]) => Promise<void> {
  if (typeof handler !== "function")
    throw createTypeError("inboxHandler needs a handler: inboxHandler(onEvents({ … })).");
  requireKnownNames("inboxHandler", options, reportOptionNames);
  const report = createInboxReport(options);

  async function handle(job: QueueJob, signal: AbortSignal | undefined): Promise<void> {
    const { event, body, receivedAt, source, retryLimit } = parseJobData(job.data);
    const before = job.attemptsMade ?? job.retryCount;
    const attempt = before === undefined ? undefined : before + 1;
    const startedMs = performance.now();
    const delivery: QueueDelivery = {
      id: undefined,
      rawBody: toBytes(body),
      receivedAt,
      signal: job.signal ?? signal ?? new AbortController().signal,
      attempt,
      source,
    };
    const facts = {
      event: { id: event.id, type: event.type },
      ...(attempt !== undefined && { attempt }),
    };
    try {
      const result = await handler(event, delivery);
      if (typeof result === "function") throw createReturnedFunctionError("handler");
    } catch (error) {
      report({
        outcome: isLastAttempt(job, retryLimit, error) ? "dead" : "failed",
        ...facts,
        error,
      });
      throw error;
    }
    const lagMs = Math.max(0, Date.now() - receivedAt.getTime());
    report({ outcome: "done", ...facts, durationMs: performance.now() - startedMs, lagMs });
  }

  return async (jobs, ...more) => {
    const signal = more.find((value): value is AbortSignal => value instanceof AbortSignal);
    const list = (Array.isArray(jobs) ? jobs : [jobs]) as QueueJob[];
    const results = await Promise.allSettled(list.map((job) => handle(job, signal)));
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  };
}

/**
 * Whether the queue makes no further attempt.
 * @param storedLimit the retry limit that the inbox stored with the event.
 */
function isLastAttempt(job: QueueJob, storedLimit: number | undefined, error: unknown): boolean {
  const { attemptsMade, opts, retryCount, retryLimit = storedLimit } = job;
  if (attemptsMade === undefined)
    return retryCount !== undefined && retryLimit !== undefined && retryCount >= retryLimit;
  const isUnrecoverable = (error as Error | undefined)?.name === "UnrecoverableError"; // BullMQ's
  return isUnrecoverable || attemptsMade + 1 >= (opts?.attempts ?? 1);
}

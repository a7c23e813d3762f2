/**
 * `inboxHandler`: an event handler as the job handler of pg-boss and BullMQ. It reports each
 * attempt, and whether it was the last one: then the event is dead.
 */

import {
  createReturnedFunctionError,
  createTypeError,
  withSafeMessage,
} from "@loyalty-cards/internal/errors";
import { requireKnownNames } from "@loyalty-cards/internal/known-options";
import { describeError, formatErrorKind } from "@loyalty-cards/internal/reporting";
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import {
  createInboxReport,
  type EventRef,
  type ReportOptions,
  reportOptionNames,
} from "./outcomes.ts";
import { getStoredLimit, parseJobData, toBytes } from "./stored-event.ts";
import { untilAborted } from "./until-aborted.ts";

/** One attempt at one event, as a queue's worker delivers it. */
export interface QueueDelivery extends Delivery {
  /** 1 for the first attempt; undefined where the queue does not report it. */
  attempt: number | undefined;
  /** The `source` of the inbox that stored the event. */
  source: string;
  /**
   * Aborted when the time of the attempt is over, or the queue cancels it. The handler is not
   * stopped.
   */
  signal: AbortSignal;
}

/** Your work on one event. If it throws or rejects, the queue retries the event. */
export type QueueHandler = (event: WebhookEvent, delivery: QueueDelivery) => unknown;

/** A job as pg-boss (in a list) and BullMQ pass it to a worker. */
interface QueueJob {
  id?: string;
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
 * of jobs as a whole: if one fails, all of them are retried. With BullMQ, after 15 minutes `signal`
 * is aborted and the event is retried; a handler that ignores the signal goes on beside the next
 * attempt.
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

  async function handle(job: QueueJob, queueSignal: AbortSignal | undefined): Promise<void> {
    const before = job.attemptsMade ?? job.retryCount;
    const attempt = before === undefined ? undefined : before + 1;
    const counted = attempt === undefined ? {} : { attempt };
    const startedMs = performance.now();
    const limit = startLimit(job, queueSignal);
    let ref: EventRef = { id: job.id ?? "", type: "" }; // until the job is read: the id of the job
    try {
      const { event, body, receivedAt, source } = parseJobData(job.data);
      ref = { id: event.id, type: event.type };
      const { signal } = limit;
      const rawBody = toBytes(body);
      const delivery = { id: undefined, rawBody, receivedAt, signal, attempt, source };
      const result = await untilAborted(signal, async () => handler(event, delivery));
      if (typeof result === "function") throw createReturnedFunctionError("handler");
      const lagMs = Math.max(0, Date.now() - receivedAt.getTime());
      const durationMs = performance.now() - startedMs;
      report({ outcome: "done", event: ref, ...counted, durationMs, lagMs });
    } catch (thrown) {
      const error = explainEnd(thrown, limit.signal);
      const outcome = isLastAttempt(job, error) ? "dead" : "failed";
      report({ outcome, event: ref, ...counted, error });
      throw toStorable(job, error);
    } finally {
      limit.cancel();
    }
  }

  // BullMQ passes a signal, the third argument, only to a function that declares it.
  return async (jobs, _token?: unknown, signal?: unknown) => {
    const queueSignal = signal instanceof AbortSignal ? signal : undefined;
    const list = (Array.isArray(jobs) ? jobs : [jobs]) as QueueJob[];
    const results = await Promise.allSettled(list.map((job) => handle(job, queueSignal)));
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  };
}

/** As long as pg-boss waits by default. BullMQ has no limit: the job would block its queue. */
const bullmqTimeoutMs = 900_000;

/** Starts what ends an attempt whose handler hangs: the signal of the queue, for BullMQ a timer. */
function startLimit(job: QueueJob, queueSignal: AbortSignal | undefined) {
  const timeout = new AbortController();
  const expire = () => timeout.abort();
  const timer = job.attemptsMade === undefined ? undefined : setTimeout(expire, bullmqTimeoutMs);
  const signals = [job.signal, queueSignal, timeout.signal].filter((one) => one !== undefined);
  return { signal: AbortSignal.any(signals), cancel: () => clearTimeout(timer) };
}

/** @returns what a handler threw; an error of ours where the signal ended the attempt. */
function explainEnd(thrown: unknown, { aborted, reason }: AbortSignal): unknown {
  if (!aborted || thrown !== reason) return thrown;
  const message =
    "The attempt was ended: the handler took longer than expireInSeconds of pg-boss, or than 15 minutes with BullMQ, or the queue cancelled it.";
  return withSafeMessage(new Error(message, { cause: thrown }));
}

/** Replaces what the queue cannot store: the job would be active until its lock expires. */
const toStorable = (job: QueueJob, error: unknown): unknown =>
  isStorable(job, error)
    ? error
    : withSafeMessage(new Error(`The handler failed: ${describeError(error)}.`));

/**
 * BullMQ stores the message and the stack, of any characters. pg-boss stores all members as JSON,
 * and PostgreSQL refuses a NUL or half of a surrogate pair in it; JSON has both as escapes.
 */
function isStorable({ attemptsMade }: QueueJob, error: unknown): boolean {
  try {
    const { message, stack = "" } = error as Error;
    if (typeof message !== "string" || typeof stack !== "string") return false;
    if (attemptsMade !== undefined) return true;
    return !/\\u(?:0000|d[89a-f])/.test(JSON.stringify(error, createMemberReader()));
  } catch {
    return false; // it is null, undefined, or cannot be read
  }
}

/** For JSON: reads each object once, with the members that pg-boss reads of an error. */
function createMemberReader() {
  const read = new WeakSet<object>();
  return (_key: string, value: unknown): unknown => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    if (read.has(value)) return undefined;
    read.add(value);
    const { name, message, stack, code, cause, errors } = value as AggregateError & {
      code: unknown;
    };
    return { ...value, name, message, stack, code, cause, errors };
  };
}

/** Whether the queue makes no further attempt. */
function isLastAttempt(job: QueueJob, error: unknown): boolean {
  const { attemptsMade, opts, retryCount } = job;
  // The inbox stored the limit with the event.
  const { retryLimit = getStoredLimit(job.data) } = job;
  if (attemptsMade === undefined)
    return retryCount !== undefined && retryLimit !== undefined && retryCount >= retryLimit;
  const isUnrecoverable = formatErrorKind(error) === "UnrecoverableError"; // BullMQ's
  return isUnrecoverable || attemptsMade + 1 >= (opts?.attempts ?? 1);
}

/** A worker of a SQLite inbox: runs the handler for each event that is due, records how the attempt ended, and deletes old events. */
import { type Jobs, type LeasedJob, ranks } from "@loyalty-cards/internal/jobs/jobs";
import {
  requireSynchronous,
  type SqliteJobsDatabase,
  type Synchronous,
} from "@loyalty-cards/internal/jobs/sqlite";
import { startWorker, type WorkLimits } from "@loyalty-cards/internal/jobs/worker";
import { maxTimerMs, requireNumber } from "@loyalty-cards/internal/limits";
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { parseStoredEvent, toBytes } from "../event.ts";
import { untilAborted } from "../put.ts";
import type { EventRef, Report } from "../reports.ts";

/** One attempt at one event. It extends the `Delivery` of a receiver, without its `id`, so a handler of `onEvents` can be used. */
export interface SqliteDelivery extends Delivery {
  /** 1 for the first attempt. */
  attempt: number;
  /** The `source` of the inbox. */
  source: string;
  /**
   * Registers a synchronous function that writes to the inbox's own file. It runs after the handler, in the transaction
   * that marks the event as done: both are committed, or neither.
   */
  write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>): void;
}

/** Your work on one event. If it throws or rejects, the event is retried. */
export type SqliteHandler = (event: WebhookEvent, delivery: SqliteDelivery) => unknown;

/** Concurrency, attempts, timeout and polling of a worker. */
export interface SqliteWorkerOptions {
  /** How many handlers run at once. Default 4. */
  concurrency?: number;
  /** After this many failures the event is a dead letter. Default 25, which takes about ten hours. */
  maxAttempts?: number;
  /** The pause after the first failure, default 1 000 ms; each later one is twice as long, at most `maxDelayMs`, default one hour. */
  backoff?: { initialDelayMs?: number; maxDelayMs?: number };
  /**
   * A handler that takes longer has failed, and its signal is aborted. Default 60 000. When a process ends, its events are tried again
   * after this time and 30 seconds.
   */
  handlerTimeoutMs?: number;
  /** How often to look for events that other processes stored. Default 1 000. */
  pollMs?: number;
}

/** How long a worker may take, after the handler's own time, to record how it ended. */
const recordingMs = 30_000;
const sweepIntervalMs = 3_600_000;

export interface WorkerContext {
  source: string;
  jobs: Jobs;
  database: SqliteJobsDatabase;
  report: Report;
  /** Describes the error of a failed attempt as it is stored. */
  describe(error: unknown): string;
  now(): number;
  random(): number;
  retentionMs: number;
}

/** @throws {TypeError} naming the option that is out of range. @param limits when the worker ends without being stopped. */
export function startEventWorker(
  { source, jobs, database, report, describe, now, random, retentionMs }: WorkerContext,
  handler: SqliteHandler,
  options: SqliteWorkerOptions = {},
  limits?: WorkLimits,
) {
  if (typeof handler !== "function") throw new TypeError("work needs a handler: work(onEvents({ … })).");
  const { concurrency, maxAttempts, handlerTimeoutMs, pollMs, initialDelayMs, maxDelayMs } =
    parseWorkerOptions(options);
  const leaseMs = handlerTimeoutMs + recordingMs;
  const onUnavailable = (error: unknown) => report({ outcome: "unavailable", error });
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  async function run(job: LeasedJob, signal: AbortSignal): Promise<void> {
    const { event, body, receivedAt } = parseStoredEvent(job.body);
    const { id, type } = event;
    const facts = { event: { id, type }, attempt: Math.min(job.attempts, maxAttempts) };
    const startedMs = performance.now();
    try {
      if (job.attempts > maxAttempts)
        throw withSafeMessage(
          new Error(
            "No attempt is left: the process ended during the last one, or maxAttempts is lower now.",
          ),
        );
      const delivery = { id: undefined, rawBody: toBytes(body), receivedAt, attempt: job.attempts, source };
      const writes = await callHandler(handler, event, delivery, signal, handlerTimeoutMs);
      const isDone = database.transact((connection) => {
        const settled = database.runIn(connection, jobs.settle(job, { state: "done" }));
        if (settled.job === undefined) return false; // the lease is not this attempt's any more
        for (const write of writes) requireSynchronous("write", write(connection));
        return true;
      });
      const lagMs = Math.max(0, now() - receivedAt.getTime());
      if (!isDone) report({ outcome: "lease-lost", ...facts });
      else report({ outcome: "done", ...facts, durationMs: performance.now() - startedMs, lagMs });
    } catch (error) {
      if (signal.aborted && error === signal.reason) database.run(jobs.giveBack(job));
      else recordFailure(job, facts, error);
    }
  }

  /** A failure that cannot be recorded is not lost: the event is due again when its lease ends. */
  function recordFailure(job: LeasedJob, facts: { event: EventRef; attempt: number }, error: unknown): void {
    const isLast = job.attempts >= maxAttempts;
    const fullMs = Math.min(maxDelayMs, initialDelayMs * 2 ** Math.min(job.attempts - 1, 40));
    // Less up to a half, so that events that failed together are not retried together.
    const retryInMs = Math.round(fullMs * (0.5 + random() / 2));
    // A retry is due in the order of time, as if it were a new event.
    const next = isLast ? { state: "dead" } : { state: "waiting", rank: ranks.new, delayMs: retryInMs };
    const settled = database.run(jobs.settle(job, { ...next, error: describe(error) }));
    if (settled.job === undefined) report({ outcome: "lease-lost", ...facts });
    else if (isLast) report({ outcome: "dead", ...facts, error });
    else report({ outcome: "failed", ...facts, error, retryInMs });
  }

  return startWorker(
    {
      clock: { monotonicMs: () => performance.now(), after },
      onUnavailable,
      lease: async (limit) => database.run(jobs.lease(limit, leaseMs, source)),
      getDelay: async () => database.run(jobs.getDelay(source)),
      run: (job, signal) => run(job, signal).catch(onUnavailable),
      giveBack: async (job) => database.run(jobs.giveBack(job)),
      async onIdle() {
        const nowMs = performance.now();
        if (nowMs - sweptAtMs < sweepIntervalMs) return;
        const sweep = jobs.sweep(source, "done", retentionMs);
        const hasMore = database.transact((connection) => database.runIn(connection, sweep));
        if (!hasMore) sweptAtMs = nowMs;
      },
    },
    { concurrency, maxPerSecond: Number.POSITIVE_INFINITY, pollMs },
    limits,
  );
}

function after(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
}

type Write = (database: SqliteDatabase) => unknown;

/** Calls the handler once. @returns what it registered with `write`. @throws its error, the timeout, or why the worker stops. */
async function callHandler(
  handler: SqliteHandler,
  event: WebhookEvent,
  delivery: Omit<SqliteDelivery, "signal" | "write">,
  workerSignal: AbortSignal,
  timeoutMs: number,
): Promise<Write[]> {
  const timeout = new AbortController();
  const timer = setTimeout(
    () => timeout.abort(withSafeMessage(new Error(`The handler took longer than ${timeoutMs} ms.`))),
    timeoutMs,
  );
  const signal = AbortSignal.any([workerSignal, timeout.signal]);
  const writes: Write[] = [];
  let isOver = false;
  function write(work: Write): void {
    if (isOver)
      throw withSafeMessage(
        new Error("write was called after the handler had ended or timed out; await the calls before it."),
      );
    writes.push(work);
  }
  try {
    await untilAborted(signal, async () => handler(event, { ...delivery, signal, write }));
    return writes;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

function parseWorkerOptions(options: SqliteWorkerOptions) {
  const { concurrency = 4, maxAttempts = 25, handlerTimeoutMs = 60_000, pollMs = 1_000 } = options;
  // With 25 attempts the retries last seven to thirteen hours: about as long as the service's own.
  const { initialDelayMs = 1_000, maxDelayMs = 3_600_000 } = options.backoff ?? {};
  requireNumber("concurrency", concurrency, 1, 10_000);
  requireNumber("maxAttempts", maxAttempts, 1);
  requireNumber("handlerTimeoutMs", handlerTimeoutMs, 1, maxTimerMs);
  requireNumber("pollMs", pollMs, 1, maxTimerMs);
  requireNumber("backoff.initialDelayMs", initialDelayMs, 0);
  requireNumber("backoff.maxDelayMs", maxDelayMs, initialDelayMs);
  return { concurrency, maxAttempts, handlerTimeoutMs, pollMs, initialDelayMs, maxDelayMs };
}

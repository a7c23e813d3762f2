/** The worker: leases events that are due, runs the handler for several at once, retries failures, and dead-letters after the last attempt. */

import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import type { DatabaseClock } from "@loyalty-cards/internal/sqlite/clock";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import { type GroupCommit, requireSynchronous } from "@loyalty-cards/internal/sqlite/group-commit";
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { parseEvent, toBytes } from "../event.ts";
import type { Report } from "../reports.ts";
import type { LeasedEvent, Store } from "./store.ts";
import {
  parseGrace,
  retryDelayMs,
  type SqliteWorkerOptions,
  validateWorkerOptions,
} from "./worker-options.ts";

/** One attempt at one event. It extends the `Delivery` of a receiver, so a handler of `onEvents` can be used. */
export interface SqliteDelivery extends Delivery {
  /** 1 for the first attempt. */
  attempt: number;
  /** The `source` of the inbox. */
  source: string;
  /**
   * Registers a synchronous function that writes to the inbox's own file. It runs after the handler, in the transaction
   * that marks the event as done: both are committed, or neither.
   */
  write(work: (database: SqliteDatabase) => void): void;
}

/** Your work on one event. If it throws or rejects, the event is retried. */
export type SqliteHandler = (event: WebhookEvent, delivery: SqliteDelivery) => unknown;

/** A running worker. */
export interface SqliteWorker {
  /**
   * Leases no further events and waits for the running handlers, `graceMs` at most (default 10 000). A handler that runs
   * longer is aborted, and its event waits for another worker without having used an attempt.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
  /** `stop()` at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WorkerContext {
  source: string;
  database: SqliteDatabase;
  store: Store;
  commits: GroupCommit;
  report: Report;
  /** Describes the error of a failed attempt as it is stored. */
  describe: (error: unknown) => string;
  /** Measures the reported lag. Every time that is stored or compared comes from `clock`. */
  now: () => number;
  clock: DatabaseClock;
  random: () => number;
  retentionMs: number;
}

const sweepIntervalMs = 3_600_000;
/** Limits how long one transaction blocks the event loop. */
const maxDeletedPerSweep = 100;

/** Aborts a running handler when its worker stops. The attempt does not count. */
const workerStops = new Error("The worker stops.");

export function startWorker(
  context: WorkerContext,
  handler: SqliteHandler,
  options: SqliteWorkerOptions = {},
  /** Called when no event is due and no handler runs, and when the worker was stopped. */
  onIdle: () => void = () => {},
): Pick<SqliteWorker, "stop"> & { poll(): void } {
  if (typeof handler !== "function") throw new TypeError("work needs a handler: work(onEvents({ … })).");
  const { source, database, store, commits, report, describe, now, clock, random, retentionMs } = context;
  const { leaseMs, pollMs, concurrency, maxAttempts, handlerTimeoutMs, backoff } =
    validateWorkerOptions(options);
  const running = new Map<LeasedEvent, AbortController>();
  const attempts = new Set<Promise<void>>();
  let isStopping = false;
  let isPolling = false;
  let isPollRequested = false;
  let isNothingDue = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  const renewal = setInterval(renewLeases, leaseMs / 3);
  void leaseDueEvents();

  function poll(): void {
    if (isStopping) return;
    if (isPolling) isPollRequested = true;
    else if (running.size < concurrency) void leaseDueEvents();
  }

  async function leaseDueEvents(): Promise<void> {
    isPolling = true;
    isPollRequested = false;
    clearTimeout(timer);
    let nextPollMs = pollMs;
    isNothingDue = false;
    try {
      if ((store.nextDueAtMs() ?? Number.POSITIVE_INFINITY) <= clock.nowMs()) await startAttempts();
      const dueInMs = (store.nextDueAtMs() ?? Number.POSITIVE_INFINITY) - clock.nowMs();
      nextPollMs = isPollRequested ? 0 : Math.min(pollMs, Math.max(0, dueInMs));
      isNothingDue = dueInMs > 0;
      sweep();
    } catch (error) {
      if (!isStopping) report({ outcome: "unavailable", error });
    }
    isPolling = false;
    reportIdle();
    if (!isStopping && running.size < concurrency) timer = setTimeout(poll, nextPollMs);
  }

  function reportIdle(): void {
    if (isNothingDue && !isPolling && attempts.size === 0) onIdle();
  }

  async function startAttempts(): Promise<void> {
    const { leased, exhausted } = await commits.commit(() => {
      const nowMs = clock.nowMs();
      const limit = concurrency - running.size;
      return store.lease(crypto.randomUUID(), nowMs + leaseMs, nowMs, limit, maxAttempts);
    });
    const error = withSafeMessage(new Error("The process ended during the last attempt."));
    for (const { attempt, ...event } of exhausted) report({ outcome: "dead", event, attempt, error });
    if (isStopping) {
      const releases = leased.map((event) => record(() => store.release(event, clock.nowMs())));
      await Promise.all(releases);
      return;
    }
    for (const event of leased) {
      const controller = new AbortController();
      running.set(event, controller);
      const attempt = runAttempt(event, controller).finally(() => {
        attempts.delete(attempt);
        reportIdle();
      });
      attempts.add(attempt);
    }
  }

  async function runAttempt(leased: LeasedEvent, controller: AbortController): Promise<void> {
    const { id, type, attempt } = leased;
    const event = { id, type };
    const startedMs = performance.now();
    try {
      const writes = await callHandler(handler, { leased, source }, controller, handlerTimeoutMs);
      const committed = commits.commit(
        () => {
          if (!store.done(leased, clock.nowMs())) return false;
          for (const write of writes) requireSynchronous("write", write(database));
          return true;
        },
        { isIsolated: writes.length > 0 },
      );
      removeRunning(leased);
      if (!(await committed)) return report({ outcome: "lease-lost", event, attempt });
      const durationMs = performance.now() - startedMs;
      const lagMs = Math.max(0, now() - leased.receivedAtMs);
      report({ outcome: "done", event, attempt, durationMs, lagMs });
    } catch (error) {
      removeRunning(leased);
      await recordFailure(leased, error);
    }
  }

  async function recordFailure(leased: LeasedEvent, error: unknown): Promise<void> {
    const { id, type, attempt } = leased;
    const event = { id, type };
    if (error === workerStops) {
      await record(() => store.release(leased, clock.nowMs()));
      return;
    }
    const failure = describe(error);
    const isLast = attempt >= maxAttempts;
    const retryInMs = retryDelayMs(backoff, attempt, random);
    const hasLease = await record(() =>
      isLast
        ? store.dead(leased, clock.nowMs(), failure)
        : store.retry(leased, clock.nowMs() + retryInMs, failure),
    );
    if (!hasLease) report({ outcome: "lease-lost", event, attempt });
    else if (isLast) report({ outcome: "dead", event, attempt, error });
    else report({ outcome: "failed", event, attempt, error, retryInMs });
    poll(); // sets the timer for the retry
  }

  /** A failure that cannot be written is not lost: the event is due again when its lease ends. */
  async function record(work: () => boolean): Promise<boolean> {
    try {
      return await commits.commit(work);
    } catch (error) {
      report({ outcome: "unavailable", error });
      return true;
    }
  }

  function removeRunning(leased: LeasedEvent): void {
    if (running.delete(leased)) poll();
  }

  /** Renews the leases of running handlers only: an event whose result could not be written is due again when its lease ends. */
  function renewLeases(): void {
    const renewals = [...running.keys()].map((leased) =>
      commits.commit(() => store.renew(leased, clock.nowMs() + leaseMs)),
    );
    Promise.all(renewals).catch((error) => report({ outcome: "unavailable", error }));
  }

  function sweep(): void {
    const nowMs = clock.nowMs();
    if (nowMs - sweptAtMs < sweepIntervalMs) return;
    commits
      .commit(() => store.deleteDone(nowMs - retentionMs, maxDeletedPerSweep))
      .then((deleted) => {
        if (deleted === 0) sweptAtMs = nowMs;
      })
      .catch((error) => report({ outcome: "unavailable", error }));
  }

  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    isStopping = true;
    clearTimeout(timer);
    while (isPolling || attempts.size > 0) {
      await Promise.all(attempts);
      await new Promise(setImmediate);
    }
    clearInterval(renewal);
    onIdle();
  }

  return {
    poll,
    stop(stopOptions) {
      const graceMs = parseGrace(stopOptions?.graceMs);
      stopped ??= stop();
      const grace = setTimeout(() => {
        for (const controller of running.values()) controller.abort(workerStops);
      }, graceMs);
      return stopped.finally(() => clearTimeout(grace));
    },
  };
}

/** Calls the handler once. @returns what it registered with `write`. @throws its error, the timeout, or why it was aborted. */
async function callHandler(
  handler: SqliteHandler,
  { leased, source }: { leased: LeasedEvent; source: string },
  controller: AbortController,
  timeoutMs: number,
): Promise<((database: SqliteDatabase) => unknown)[]> {
  const { signal } = controller;
  const writes: ((database: SqliteDatabase) => unknown)[] = [];
  let isOver = false;
  const timeout = setTimeout(
    () => controller.abort(withSafeMessage(new Error(`The handler took longer than ${timeoutMs} ms.`))),
    timeoutMs,
  );
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const delivery: SqliteDelivery = {
    id: undefined,
    rawBody: toBytes(leased.body),
    receivedAt: new Date(leased.receivedAtMs),
    signal,
    attempt: leased.attempt,
    source,
    write(work) {
      if (isOver)
        throw withSafeMessage(
          new Error("write was called after the handler had ended; await the calls before it."),
        );
      writes.push(work);
    },
  };
  try {
    await Promise.race([Promise.resolve().then(() => handler(parseEvent(leased.body), delivery)), aborted]);
    return writes;
  } finally {
    isOver = true;
    clearTimeout(timeout);
  }
}

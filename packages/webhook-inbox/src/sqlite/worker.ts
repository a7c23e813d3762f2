/**
 * A worker of a SQLite inbox: runs the handler for each event that is due, records how the attempt
 * ended, and deletes old events.
 */
import {
  createReturnedFunctionError,
  createTypeError,
  withSafeMessage,
} from "@loyalty-cards/internal/errors";
import { type Backoff, getBackoffMs } from "@loyalty-cards/internal/jobs/backoff";
import { deleteEnded } from "@loyalty-cards/internal/jobs/erase";
import { leaseDue, leaseMarginMs } from "@loyalty-cards/internal/jobs/lease";
import { getDelayMs } from "@loyalty-cards/internal/jobs/read";
import { type End, giveBack, settleRow } from "@loyalty-cards/internal/jobs/settle";
import type { SqliteJobsDatabase, Synchronous } from "@loyalty-cards/internal/jobs/sqlite";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { type LeasedJob, ranks } from "@loyalty-cards/internal/jobs/tables";
import { type Sweep, startWorker, type WorkLimits } from "@loyalty-cards/internal/jobs/worker";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { endless, maxTimerMs, requireInteger, requireNumber } from "@loyalty-cards/internal/limits";
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import type { Clock } from "@loyalty-cards/internal/timers";
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import type { EventRef, Report } from "../outcomes.ts";
import { parseStoredEvent, toBytes } from "../stored-event.ts";
import { untilAborted } from "../until-aborted.ts";
import { tables } from "./store-node.ts";

/**
 * One attempt at one event. It extends the `Delivery` of a receiver, without its `id`, so a handler
 * of `onEvents` can be used.
 */
export interface SqliteDelivery extends Delivery {
  /** 1 for the first attempt. */
  attempt: number;
  /** The `source` of the inbox. */
  source: string;
  /**
   * Registers a synchronous function that writes to the inbox's own file. It runs after the
   * handler, in the transaction that marks the event as done: both are committed, or neither.
   */
  write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>): void;
}

/** Your work on one event. If it throws or rejects, the event is retried. */
export type SqliteHandler = (event: WebhookEvent, delivery: SqliteDelivery) => unknown;

/** Concurrency, attempts, timeout and polling of a worker. */
export interface SqliteWorkerOptions {
  /** How many handlers run at once. Default 4. */
  concurrency?: number;
  /**
   * After this many failures the event is a dead letter. Default 25: about eleven hours.
   */
  maxAttempts?: number;
  /**
   * The pause after the first failure, default 1 000 ms; each later one is twice as long, at most
   * `maxDelayMs`, default one hour.
   */
  backoff?: { initialDelayMs?: number; maxDelayMs?: number };
  /**
   * A handler that takes longer has failed, and its signal is aborted. Default 60 000. When a
   * process ends, its events are tried again after this time and 30 seconds.
   */
  handlerTimeoutMs?: number;
  /** How often to look for events that other processes stored. Default 1 000. */
  pollMs?: number;
}

const done: End = { state: "done", effect: "unchanged" };
const dead: End = { state: "dead", effect: "unchanged" };

/** An inbox, as its workers see it. */
export interface InboxContext {
  source: string;
  database: SqliteJobsDatabase;
  report: Report;
  log(line: string): void;
  /** Describes the error of a failed attempt as it is stored. */
  describe(error: unknown): string;
  clock: Clock;
  random(): number;
  /** What all workers share. */
  sweep: Sweep;
}

/** Deletes events that were done longer ago than the retention. */
export const createSweep = (
  database: SqliteJobsDatabase,
  source: string,
  retentionMs: number,
): Sweep => ({
  async eraseSome() {
    const hasMore = database.transact(
      deleteEnded(tables, { topic: source, state: "done", retentionMs }),
    );
    if (!hasMore) database.tidy();
    return hasMore;
  },
});

/**
 * @throws {TypeError} naming the option that is out of range.
 * @param limits when the worker ends without being stopped.
 */
export function startEventWorker(
  { source, database, report, describe, clock, random, sweep }: InboxContext,
  handler: SqliteHandler,
  options: SqliteWorkerOptions = {},
  limits?: WorkLimits,
) {
  if (typeof handler !== "function")
    throw createTypeError("work needs a handler: work(onEvents({ … })).");
  const { concurrency, maxAttempts, handlerTimeoutMs, pollMs, backoff } =
    parseWorkerOptions(options);
  database.open(); // a file that cannot be opened is an error of this call
  const leaseMs = handlerTimeoutMs + leaseMarginMs;
  const onUnavailable = (error: unknown) => report({ outcome: "unavailable", error });

  async function run(job: LeasedJob, signal: AbortSignal): Promise<void> {
    const attempt = Math.min(job.attempts, maxAttempts);
    const stored = parseStoredEvent(job.body);
    if (stored === undefined) return recordDamaged(job, attempt);
    const { event, body, receivedAt } = stored;
    const facts = { event: { id: event.id, type: event.type }, attempt };
    const startedMs = clock.monotonicMs();
    try {
      requireAttempt(job, maxAttempts);
      const delivery = { id: undefined, rawBody: toBytes(body), receivedAt, attempt, source };
      const limit = { clock, timeoutMs: handlerTimeoutMs, workerSignal: signal };
      const writes = await callHandler(handler, event, delivery, limit);
      const isDone = database.transact(markDone(job, writes));
      const durationMs = clock.monotonicMs() - startedMs;
      const lagMs = Math.max(0, clock.now() - receivedAt.getTime());
      if (isDone) report({ outcome: "done", ...facts, durationMs, lagMs });
      else report({ outcome: "lease-lost", ...facts });
    } catch (error) {
      if (signal.aborted && error === signal.reason) returnUnhandled(job);
      else recordFailedAttempt(job, facts, error);
    }
  }

  /** An event that was new before goes behind those that wait. */
  function returnUnhandled(job: LeasedJob): void {
    const wasStarted = job.runsAlone; // by a process that ended while it ran
    const rank = wasStarted ? ranks.started : ranks.new;
    database.runEach(giveBack(tables, job, { rank }));
  }

  /** No attempt can read the event. A new delivery of it replaces the dead letter. */
  function recordDamaged(job: LeasedJob, attempt: number): void {
    const error = withSafeMessage(new Error("The stored event is damaged."));
    const end = { ...dead, error: describe(error) };
    if (database.runEach(settleRow(tables, job, end)).job === undefined) return;
    report({ outcome: "dead", event: { id: job.name, type: "" }, attempt, error });
  }

  /** A failure that cannot be recorded is not lost: the event is due again when its lease ends. */
  function recordFailedAttempt(
    job: LeasedJob,
    facts: { event: EventRef; attempt: number },
    error: unknown,
  ): void {
    const isLast = job.attempts >= maxAttempts;
    const retryInMs = getBackoffMs(job.attempts, backoff, random);
    // Not as a started one, which would go before new events: these must not wait for one that
    // fails.
    const next: End = isLast
      ? dead
      : { state: "waiting", effect: "uncertain", rank: ranks.new, delayMs: retryInMs };
    const settled = database.runEach(settleRow(tables, job, { ...next, error: describe(error) }));
    if (settled.job === undefined) report({ outcome: "lease-lost", ...facts });
    else if (isLast) report({ outcome: "dead", ...facts, error });
    else report({ outcome: "failed", ...facts, error, retryInMs });
  }

  return startWorker(
    {
      clock,
      onUnavailable,
      // The process of a started event ended while it ran: perhaps because of this event.
      lease: async (limit) =>
        database.runEach(
          leaseDue(tables, leaseMs, { limit, topic: source, startedRunAlone: true }),
        ),
      getDelay: async () => database.runEach(getDelayMs(tables, source)),
      correctTimes: async () => database.followFile(),
      run: (job, signal) => run(job, signal).catch(onUnavailable),
      giveBack: async (job) => returnUnhandled(job),
      sweep,
    },
    { concurrency, maxPerSecond: endless, pollMs },
    limits,
  );
}

/**
 * Marks an event as done, and writes what its handler registered.
 * @returns false when the lease is not this attempt's any more: then nothing is written.
 */
function* markDone(job: LeasedJob, writes: readonly Write[]): Statements<boolean> {
  const settled = yield* settleRow(tables, job, done);
  if (settled.job === undefined) return false;
  for (const write of writes) yield { name: "delivery.write", call: write };
  return true;
}

/** @throws when the last attempt has begun already. */
function requireAttempt({ attempts }: LeasedJob, maxAttempts: number): void {
  if (attempts <= maxAttempts) return;
  throw withSafeMessage(
    new Error(
      "No attempt is left: the process ended during the last one, or maxAttempts is lower now.",
    ),
  );
}

type Write = (database: SqliteDatabase) => unknown;

/** What ends the attempt of a handler. */
interface HandlerLimit {
  clock: Clock;
  timeoutMs: number;
  workerSignal: AbortSignal;
}

/**
 * Calls the handler once.
 * @returns what it registered with `write`.
 * @throws its error, the timeout, or why the worker stops.
 */
async function callHandler(
  handler: SqliteHandler,
  event: WebhookEvent,
  delivery: Omit<SqliteDelivery, "signal" | "write">,
  { clock, timeoutMs, workerSignal }: HandlerLimit,
): Promise<Write[]> {
  const timeout = new AbortController();
  const cancelTimer = clock.after(timeoutMs, () =>
    timeout.abort(withSafeMessage(new Error(`The handler took longer than ${timeoutMs} ms.`))),
  );
  const signal = AbortSignal.any([workerSignal, timeout.signal]);
  const writes: Write[] = [];
  let isOver = false;
  function write(work: Write): void {
    if (isOver)
      throw withSafeMessage(
        new Error(
          "write was called after the handler had ended or timed out; await the calls before it.",
        ),
      );
    writes.push(work);
  }
  try {
    const work = async () => handler(event, { ...delivery, signal, write });
    const result = await untilAborted(signal, work);
    if (typeof result === "function") throw createReturnedFunctionError("handler");
    return writes;
  } finally {
    isOver = true;
    cancelTimer();
  }
}

export const workerOptionNames = {
  concurrency: true,
  maxAttempts: true,
  backoff: true,
  handlerTimeoutMs: true,
  pollMs: true,
} satisfies OptionNames<SqliteWorkerOptions>;

const backoffNames = { initialDelayMs: true, maxDelayMs: true } satisfies OptionNames<Backoff>;

function parseWorkerOptions(options: SqliteWorkerOptions) {
  requireKnownNames("The worker of an inbox", options, workerOptionNames);
  const { concurrency = 4, maxAttempts = 25, handlerTimeoutMs = 60_000, pollMs = 1_000 } = options;
  requireKnownNames("backoff", options.backoff ?? {}, backoffNames);
  // With 25 attempts the retries last ten to thirteen hours: about as long as the service's own.
  const { initialDelayMs = 1_000, maxDelayMs = 3_600_000 } = options.backoff ?? {};
  requireInteger("concurrency", concurrency, 1, 10_000);
  requireInteger("maxAttempts", maxAttempts, 1, endless);
  requireNumber("handlerTimeoutMs", handlerTimeoutMs, 1, maxTimerMs);
  requireNumber("pollMs", pollMs, 1, maxTimerMs);
  requireNumber("backoff.initialDelayMs", initialDelayMs, 0);
  requireNumber("backoff.maxDelayMs", maxDelayMs, initialDelayMs);
  return {
    concurrency,
    maxAttempts,
    handlerTimeoutMs,
    pollMs,
    backoff: { initialDelayMs, maxDelayMs },
  };
}

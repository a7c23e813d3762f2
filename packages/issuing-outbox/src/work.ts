/** `work` and `drain`: workers, which issue the cards of entries that are due. */
import { eraseEnded } from "@loyalty-cards/internal/jobs/erase";
import { leaseDue, leaseProbe } from "@loyalty-cards/internal/jobs/lease";
import { getDelayMs, getLeaseDelayMs } from "@loyalty-cards/internal/jobs/read";
import { giveBack, maxRestMs } from "@loyalty-cards/internal/jobs/settle";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import type { JobTables, LeasedJob } from "@loyalty-cards/internal/jobs/tables";
import {
  type Sweep,
  startWorker,
  type Worker,
  type WorkLimits,
} from "@loyalty-cards/internal/jobs/worker";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import {
  endless,
  maxTimerMs,
  parseGrace,
  requireFunction,
  requireInteger,
  requireNumber,
  requireSignal,
} from "@loyalty-cards/internal/limits";
import { logListenerError, notify } from "@loyalty-cards/internal/reporting";
import { getLeaseTimes, type OwnLease, runAttempt } from "./attempt.ts";
import type { OutboxContext, Recorded } from "./context.ts";
import type { OutboxCounts } from "./entry.ts";
import { requireOpen } from "./job.ts";
import { countEntries } from "./list.ts";
import type { DrainOptions, OutboxWorker, WorkOptions } from "./outbox.ts";
import { requireOwnSettings } from "./tables.ts";

const progressIntervalMs = 100;

/** The workers of an outbox that run. */
export interface Workers {
  /** @param onEnd is called after each attempt. */
  start(
    options: Required<WorkOptions>,
    limits?: WorkLimits,
    onEnd?: (result: Recorded) => void,
  ): Worker;
  stop(graceMs: number): Promise<unknown>;
}

export function createWorkers(context: OutboxContext): Workers {
  const { database, tables, client, retentionMs, report, lifecycle, activeWorkers } = context;
  const { clock, deadlineMs } = client;
  const sweep: Sweep = {
    eraseSome: () => database.transact(() => eraseForms(tables, retentionMs)),
  };
  const stop = (graceMs: number) =>
    Promise.all([...activeWorkers].map((worker) => worker.stop(graceMs)));
  lifecycle.listeners.halted.add(() => void stop(maxTimerMs));

  async function lease(limit: number): Promise<OwnLease[]> {
    const times = getLeaseTimes(clock, deadlineMs);
    const leased = await database.runEach(() => leaseNext(tables, limit, times.leaseMs));
    return leased.map((job) => ({ ...job, ...times }));
  }

  function* getDelay(): Statements<number | undefined> {
    yield* requireOwnSettings(client);
    return yield* getDelayMs(tables);
  }

  return {
    start(options, limits, onEnd) {
      requireOpen(context);
      if (lifecycle.phase === "halted") return endedWorker;
      const worker = startWorker<OwnLease>(
        {
          clock,
          lease,
          getDelay: () => database.runEach(getDelay),
          correctTimes: () => database.correctTimes(),
          run: (job, signal) => runAttempt(context, job, { isVisitor: false, signal }).then(onEnd),
          giveBack: (job) => database.runEach(() => giveBack(tables, job)),
          onUnavailable: (error) => report({ outcome: "unavailable", error }),
          sweep,
          onIdle: () => database.tidy(),
        },
        options,
        limits,
      );
      activeWorkers.add(worker);
      void worker.ended.then(() => activeWorkers.delete(worker));
      return worker;
    },
    stop,
  };
}

/** The worker of an outbox that leases nothing more. */
const endedWorker: Worker = {
  ended: Promise.resolve(),
  wake() {},
  async stop() {},
};

/**
 * Leases a job that tries a template which is paused, else what is due: nothing follows a lease
 * that could fail, and lose it.
 */
function* leaseNext(tables: JobTables, limit: number, leaseMs: number): Statements<LeasedJob[]> {
  const probe = yield* leaseProbe(tables, leaseMs);
  return probe === undefined ? yield* leaseDue(tables, leaseMs, { limit }) : [probe];
}

/**
 * Erases some of the forms whose retention is over.
 * @returns whether more may be left.
 */
function* eraseForms(tables: JobTables, retentionMs: number): Statements<boolean> {
  const hasMore = yield* eraseEnded(tables, { state: "rejected", retentionMs });
  return hasMore || (yield* eraseEnded(tables, { state: "unknown", retentionMs }));
}

const workOptionNames = {
  concurrency: true,
  maxPerSecond: true,
  pollMs: true,
} satisfies OptionNames<WorkOptions>;

export function work(workers: Workers, options: WorkOptions = {}): OutboxWorker {
  requireKnownNames("work", options, workOptionNames);
  const worker = workers.start(parseWorkOptions(options, 8));
  const stop: OutboxWorker["stop"] = (stopOptions) => worker.stop(parseGrace(stopOptions?.graceMs));
  return { stop, [Symbol.asyncDispose]: () => stop() };
}

/** @throws {TypeError} naming the option. */
function parseWorkOptions(options: WorkOptions, defaultConcurrency: number): Required<WorkOptions> {
  const { concurrency = defaultConcurrency, maxPerSecond = endless, pollMs = 1_000 } = options;
  requireInteger("concurrency", concurrency, 1, 1_000);
  requireNumber("maxPerSecond", maxPerSecond, 0.01, endless);
  requireNumber("pollMs", pollMs, 1, maxTimerMs);
  return { concurrency, maxPerSecond, pollMs };
}

const drainOptionNames = {
  concurrency: true,
  maxPerSecond: true,
  maxMs: true,
  maxEntries: true,
  onProgress: true,
  signal: true,
} satisfies OptionNames<DrainOptions>;

export async function drain(
  context: OutboxContext,
  workers: Workers,
  options: DrainOptions = {},
): Promise<OutboxCounts> {
  requireKnownNames("drain", options, drainOptionNames);
  const { database, tables, client } = context;
  const { maxMs = endless, maxEntries = endless, onProgress, signal } = options;
  requireNumber("maxMs", maxMs, 0, endless);
  requireInteger("maxEntries", maxEntries, 0, endless);
  requireSignal(signal);
  if (onProgress !== undefined) requireFunction("onProgress", onProgress);
  const workOptions = parseWorkOptions(options, 32);
  requireOpen(context);

  const before = await database.runEach(() => countEntries(context));
  const limits = {
    maxIdleMs: maxRestMs, // it waits for entries that are due within this time
    maxJobs: signal?.aborted ? 0 : maxEntries,
    endsAtMs: client.clock.monotonicMs() + maxMs,
    getLeaseDelay: () => database.runEach(() => getLeaseDelayMs(tables)),
  };
  const onEnd = onProgress && createProgress(context, before, onProgress);
  const worker = workers.start(workOptions, limits, onEnd);
  const stop = () => void worker.stop(maxTimerMs);
  signal?.addEventListener("abort", stop, { once: true });
  await worker.ended;
  signal?.removeEventListener("abort", stop);

  const counts = await database.runEach(() => countEntries(context));
  if (onProgress !== undefined) reportProgress(onProgress, counts);
  return counts;
}

const reportProgress = (onProgress: (counts: OutboxCounts) => void, counts: OutboxCounts): void =>
  notify(onProgress, counts, (error) =>
    logListenerError("issuing-outbox: onProgress", onProgress, error),
  );

/**
 * Adds the results of this process to the counts at the start, because counting a million entries
 * takes a moment.
 */
function createProgress(
  { client: { clock } }: OutboxContext,
  counts: OutboxCounts,
  onProgress: (counts: OutboxCounts) => void,
) {
  let reportedAtMs = clock.monotonicMs();
  return ({ entry, isRepeated }: Recorded): void => {
    if (entry !== undefined && entry.state !== "waiting") {
      // Entries that were added since the start may have been issued, too.
      if (isRepeated) counts.undelivered = Math.max(0, counts.undelivered - 1);
      else {
        counts.waiting = Math.max(0, counts.waiting - 1);
        counts[entry.state] += 1;
      }
      if (entry.isDelivered === false) counts.undelivered += 1;
    }
    if (clock.monotonicMs() - reportedAtMs < progressIntervalMs) return;
    reportedAtMs = clock.monotonicMs();
    reportProgress(onProgress, { ...counts });
  };
}

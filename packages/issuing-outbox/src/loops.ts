/** `work`, `drain` and `count`: the loops of an outbox, and what they report. */
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import { startWorker, type Worker, type WorkLimits } from "@loyalty-cards/internal/jobs/worker";
import { maxTimerMs, parseGrace, requireNumber } from "@loyalty-cards/internal/limits";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { notify } from "@loyalty-cards/internal/reporting";
import type { AttemptContext, AttemptResult, Attempts, OwnLease } from "./attempt.ts";
import { type OutboxCounts, requireInteger } from "./entry.ts";
import type { DrainOptions, OutboxWorker, WorkOptions } from "./outbox.ts";
import { checkSettings } from "./tables.ts";

/** `drain` waits for entries that are due within this time. */
const drainIdleMs = 10_000;
/** How long the service stores a key: 24 hours (spec 8), less a minute for clocks that differ. An attempt must end before. */
const keyLifetimeMs = 24 * 3_600_000 - 60_000;
const progressIntervalMs = 100;
const sweepIntervalMs = 600_000;
const endless = Number.POSITIVE_INFINITY;

/** @param retentionMs how long the forms of rejected and unknown entries are stored. */
export function createLoops(
  { database, jobs, steps, report }: AttemptContext,
  attempts: Attempts,
  retentionMs: number,
  requireNotClosed: () => void,
) {
  const { clock, deadlineMs } = steps;
  const workers = new Set<Worker>();
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  function start(
    work: Required<WorkOptions>,
    limits?: WorkLimits,
    onEnd?: (result: AttemptResult) => void,
  ): Worker {
    requireNotClosed();
    const worker = startWorker<OwnLease>(
      {
        clock,
        lease: (limit) =>
          attempts.lease(function* (leaseMs) {
            const probe = yield* jobs.leaseProbe(leaseMs);
            if (probe === undefined) return yield* jobs.lease(limit, leaseMs);
            return limit === 1 ? [probe] : [probe, ...(yield* jobs.lease(limit - 1, leaseMs))];
          }, deadlineMs),
        getDelay: () =>
          database.run(function* () {
            yield* checkSettings(steps);
            return yield* jobs.getDelay();
          }),
        run: (job, signal) => attempts.run(job, signal).then(onEnd),
        giveBack: (job) => database.run(() => jobs.giveBack(job)),
        onUnavailable: (error) => report({ outcome: "unavailable", error }),
        async onIdle() {
          await sweep();
          database.tidy();
        },
      },
      work,
      limits,
    );
    workers.add(worker);
    void worker.ended.then(() => workers.delete(worker));
    return worker;
  }

  /** Erases forms whose retention is over. */
  async function sweep(): Promise<void> {
    if (clock.monotonicMs() - sweptAtMs < sweepIntervalMs) return;
    for (const state of ["rejected", "unknown"])
      while (await database.transact(() => jobs.erase(state, retentionMs)));
    sweptAtMs = clock.monotonicMs();
  }

  function* countEntries(): Operation<OutboxCounts> {
    const { states, callbacks, oldestWaitingAtMs, oldestStartedAtMs } = yield* jobs.count();
    const paused = yield* jobs.listBreakers();
    const { waiting = 0, issued = 0, rejected = 0, unknown = 0 } = states;
    return {
      ...{ waiting, issued, rejected, unknown, undelivered: callbacks },
      ...(oldestWaitingAtMs !== undefined && { oldestWaitingAt: new Date(oldestWaitingAtMs) }),
      ...(oldestStartedAtMs !== undefined && {
        nextExpiryAt: new Date(oldestStartedAtMs + keyLifetimeMs - deadlineMs),
      }),
      paused: paused.map(({ topic, sinceMs, reason }) => ({
        template: topic,
        since: new Date(sinceMs),
        reason,
      })),
    };
  }

  async function drain(drainOptions: DrainOptions = {}): Promise<OutboxCounts> {
    const { maxMs = endless, maxEntries = endless, onProgress, signal } = drainOptions;
    requireNumber("maxMs", maxMs, 0, endless);
    requireInteger("maxEntries", maxEntries, 0, endless);
    const ownNames = ["maxMs", "maxEntries", "onProgress", "signal"];
    requireKnownOptions("drain", drainOptions, ["concurrency", "maxPerSecond", ...ownNames]);
    const work = parseWorkOptions(drainOptions, 32);
    requireNotClosed();
    const before = await database.run(countEntries);
    const worker = start(
      work,
      {
        maxIdleMs: drainIdleMs,
        maxJobs: signal?.aborted ? 0 : maxEntries,
        endsAtMs: clock.monotonicMs() + maxMs,
        getLeaseDelay: () => database.run(() => jobs.getLeaseDelay()),
      },
      onProgress && createProgress(before, onProgress),
    );
    const stop = () => void worker.stop(maxTimerMs);
    signal?.addEventListener("abort", stop, { once: true });
    await worker.ended;
    signal?.removeEventListener("abort", stop);
    const counts = await database.run(countEntries);
    notify(onProgress, counts);
    return counts;
  }

  /** Adds the results of this process to the counts at the start, because counting a million entries takes a moment. */
  function createProgress(counts: OutboxCounts, onProgress: (counts: OutboxCounts) => void) {
    let reportedAtMs = clock.monotonicMs();
    return ({ entry }: AttemptResult): void => {
      if (entry !== undefined && entry.state !== "waiting") {
        counts[entry.state] += 1;
        counts.waiting -= 1;
      }
      if (clock.monotonicMs() - reportedAtMs < progressIntervalMs) return;
      reportedAtMs = clock.monotonicMs();
      notify(onProgress, { ...counts });
    };
  }

  return {
    work(options: WorkOptions = {}): OutboxWorker {
      requireKnownOptions("work", options, ["concurrency", "maxPerSecond", "pollMs"]);
      const worker = start(parseWorkOptions(options, 8));
      const stop: OutboxWorker["stop"] = (stopOptions) => worker.stop(parseGrace(stopOptions?.graceMs));
      return { stop, [Symbol.asyncDispose]: () => stop() };
    },
    drain,
    async count(): Promise<OutboxCounts> {
      requireNotClosed();
      return database.run(countEntries);
    },
    /** Stops all workers, and `drain`. */
    stop: (graceMs: number) => Promise.all([...workers].map((worker) => worker.stop(graceMs))),
  };
}

/** @throws {TypeError} naming the option. */
function parseWorkOptions(options: WorkOptions, defaultConcurrency: number): Required<WorkOptions> {
  const { concurrency = defaultConcurrency, maxPerSecond = endless, pollMs = 1_000 } = options;
  requireInteger("concurrency", concurrency, 1, 1_000);
  requireNumber("maxPerSecond", maxPerSecond, 0.01, endless);
  requireNumber("pollMs", pollMs, 1, maxTimerMs);
  return { concurrency, maxPerSecond, pollMs };
}

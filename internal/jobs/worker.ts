/** Runs the jobs that are due: several at once, each with a lease, one at a time while its topic fails. */
import { getBuiltinModule } from "../builtin-module.ts";
import { maxTimerMs } from "../limits.ts";
import type { LeasedJob } from "./jobs.ts";

export interface WorkerContext<Leased extends LeasedJob> {
  /** Leases what is due, and a job that tries a topic whose breaker is open. */
  lease(limit: number): Promise<Leased[]>;
  /** How long until something is due; undefined when nothing waits. */
  getDelay(): Promise<number | undefined>;
  /** Runs a leased job, and records how it ended. It never rejects. */
  run(job: Leased, signal: AbortSignal): Promise<unknown>;
  /** Returns a job that was leased and not begun. */
  giveBack(job: Leased): Promise<void>;
  /** The database could not be used. The worker goes on. */
  onUnavailable(error: unknown): void;
  /** Called before the worker sleeps because nothing is due. */
  onIdle?(): Promise<unknown>;
  clock: { monotonicMs(): number; after(ms: number, wake: () => void): () => void };
}

/** How many jobs run at once, how many begin in a second, and how often to look for those that others added. */
export type WorkOptions = Record<"concurrency" | "maxPerSecond" | "pollMs", number>;

/** When a worker ends without being stopped. */
export interface WorkLimits {
  /** It ends when nothing is due within this time and nothing runs. */
  maxIdleMs?: number;
  maxJobs?: number;
  /** Begins nothing after this time, on the monotonic clock. */
  endsAtMs?: number;
  /** How long until the lease of an attempt of another process expires: the worker waits for it. undefined when none is running. */
  getLeaseDelay?(): Promise<number | undefined>;
}

const endless = Number.POSITIVE_INFINITY;

export interface Worker {
  /** Resolves when the worker has ended and its jobs are recorded. */
  readonly ended: Promise<void>;
  /** Looks for jobs now: something was added, or is due earlier. */
  wake(): void;
  /** Begins nothing more, and waits for the jobs that run, at most `graceMs`; then these are aborted. */
  stop(graceMs: number): Promise<void>;
}

/** After jobs were leased by others in the moment before, or when the database failed. */
const minWaitMs = 50;

/**
 * Starts a worker: it leases and runs what is due, waits until something is due or a job ends, or stops.
 * @param limits default: it works until it is stopped.
 */
export function startWorker<Leased extends LeasedJob>(
  { lease, getDelay, run, giveBack, onUnavailable, onIdle, clock }: WorkerContext<Leased>,
  { concurrency, maxPerSecond, pollMs }: WorkOptions,
  limits: WorkLimits = {},
): Worker {
  const { maxIdleMs = endless, maxJobs = endless, endsAtMs = endless, getLeaseDelay } = limits;
  const running = new Map<Promise<unknown>, AbortController>();
  let isStopping = false;
  /** Whether a job ended, or was added, since the worker looked. */
  let isWoken = false;
  let endWait = () => {};
  let begun = 0;
  /** When the next job may begin. */
  let nextAtMs = Number.NEGATIVE_INFINITY;
  let leasedAtMs = Number.NEGATIVE_INFINITY;
  /** Failures of the topic of the last job. 1 after an idle time, so that one job is leased alone: its row says how many there are. */
  let failures = 1;
  /** How many of the jobs that run are probes. */
  let probes = 0;

  const isOver = () => isStopping || begun >= maxJobs || clock.monotonicMs() >= endsAtMs;

  function wait(ms: number): Promise<void> {
    const waitMs = Math.max(1, Math.min(ms, pollMs, endsAtMs - clock.monotonicMs(), maxTimerMs));
    return new Promise((resolve) => {
      const cancel = clock.after(waitMs, resolve);
      endWait = () => {
        cancel();
        resolve();
      };
      if (isWoken) endWait();
    });
  }

  function wake(): void {
    isWoken = true;
    endWait();
  }

  function begin(job: Leased): void {
    begun += 1;
    const isProbe = job.probe !== undefined;
    if (isProbe) probes += 1;
    else failures = job.failures;
    nextAtMs = Math.max(nextAtMs, clock.monotonicMs()) + 1_000 / maxPerSecond;
    const controller = new AbortController();
    const ended: Promise<unknown> = run(job, controller.signal).finally(() => {
      running.delete(ended);
      if (isProbe) probes -= 1;
      wake();
    });
    running.set(ended, controller);
  }

  /** Leases and begins what may begin now. @returns how long to wait before the next time; undefined when the worker ends. */
  async function work(): Promise<number | undefined> {
    const limit = failures > 0 ? 1 : concurrency;
    // A probe holds up no job of another topic.
    const free = Math.min(limit + probes, concurrency) - running.size;
    const waitMs = nextAtMs - clock.monotonicMs();
    // A lease is a write, so it waits for several jobs, but not for long ones. Each that ends wakes the worker.
    if (free < 1 || (free < limit / 2 && clock.monotonicMs() < leasedAtMs + pollMs)) return pollMs;
    if (waitMs > 0) return waitMs;
    const atOnce = Number.isFinite(maxPerSecond) ? 1 : free;
    leasedAtMs = clock.monotonicMs();
    const leased = await lease(Math.min(atOnce, maxJobs - begun));
    for (const job of leased) {
      if (isOver()) await giveBack(job);
      else begin(job);
    }
    if (leased.length > 0) return 0;
    if (running.size === 0) failures = 1;
    const delayMs = (await getDelay()) ?? Number.POSITIVE_INFINITY;
    if (running.size > 0) return Math.max(minWaitMs, delayMs);
    if (delayMs > 0) await onIdle?.();
    if (delayMs <= maxIdleMs) return Math.max(minWaitMs, delayMs);
    const leaseDelayMs = await getLeaseDelay?.();
    return leaseDelayMs === undefined ? undefined : Math.max(minWaitMs, leaseDelayMs);
  }

  async function loop(): Promise<void> {
    while (!isOver()) {
      isWoken = false;
      const waitMs = await work().catch((error: unknown) => {
        onUnavailable(error);
        return Math.max(minWaitMs, pollMs);
      });
      if (waitMs === undefined) break;
      if (waitMs > 0 && !isOver()) await wait(waitMs);
    }
    while (running.size > 0) await Promise.all(running.keys());
  }

  const ended = runInNoRequest(loop);
  return {
    ended,
    wake,
    async stop(graceMs) {
      isStopping = true;
      wake();
      const cancel = clock.after(graceMs, () => {
        for (const controller of running.values()) controller.abort(new Error("The worker stops."));
      });
      await ended;
      cancel();
    },
  };
}

const { AsyncResource } = (getBuiltinModule("node:async_hooks") ?? {}) as {
  AsyncResource?: new (type: string) => { runInAsyncScope<Result>(work: () => Result): Result };
};
const ownContext = AsyncResource && new AsyncResource("worker");
/** A job has no AsyncLocalStorage store, also when a request started its worker. */
const runInNoRequest = <Result>(work: () => Result): Result =>
  ownContext === undefined ? work() : ownContext.runInAsyncScope(work);

export const maxBackoffMs = 15 * 60_000;

/** The delay before the next attempt of a job: 1 s, doubled with each attempt, up to 15 minutes, with jitter. */
export function getBackoffMs(attempts: number, random: () => number): number {
  return withJitter(Math.min(maxBackoffMs, 1_000 * 2 ** (attempts - 1)), random);
}

/** Less up to a quarter at random, so that jobs that failed together are not retried together. */
export const withJitter = (ms: number, random: () => number): number =>
  Math.round(ms * (0.75 + random() / 4));

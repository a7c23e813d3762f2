/**
 * Runs the jobs that are due: several at once, each with a lease, one at a time while its topic
 * fails.
 */
import { getBuiltinModule } from "../builtin-module.ts";
import { endless } from "../limits.ts";
import { type Clock, setRealImmediate } from "../timers.ts";
import { maxAheadMs } from "./correct-times.ts";
import type { LeasedJob } from "./tables.ts";

interface WorkerContext<Leased extends LeasedJob> {
  /** Leases what is due, or one job that tries a topic whose breaker is open. */
  lease(limit: number): Promise<Leased[]>;
  /** How long until something is due; undefined when nothing waits. */
  getDelay(): Promise<number | undefined>;
  /** Runs a leased job, and records how it ended. It never rejects. */
  run(job: Leased, signal: AbortSignal): Promise<unknown>;
  /** Returns a job that was leased and not begun. */
  giveBack(job: Leased): Promise<void>;
  /** Called when the database could not be used. The worker goes on. */
  onUnavailable(error: unknown): void;
  /** Called when nothing is due for a minute: perhaps a clock was ahead when it was stored. */
  correctTimes?(): Promise<unknown>;
  sweep?: Sweep;
  /** Called before the worker sleeps because nothing is due. */
  onIdle?(): unknown;
  clock: Clock;
}

/**
 * How many jobs run at once, how many begin in a second, and how often to look for those that
 * others added.
 */
export interface WorkerOptions {
  concurrency: number;
  maxPerSecond: number;
  pollMs: number;
}

/** When a worker ends without being stopped. */
export interface WorkLimits {
  /** The worker ends when nothing is due within this time and nothing runs. */
  maxIdleMs?: number;
  maxJobs?: number;
  /** Begins nothing after this time, on the monotonic clock. */
  endsAtMs?: number;
  /**
   * How long until the lease of an attempt of another process expires: the worker waits for it.
   * undefined when none is running.
   */
  getLeaseDelay?(): Promise<number | undefined>;
}

/**
 * The shortest wait after others leased the jobs first, or after the database failed, and the
 * longest for more places.
 */
const minWaitMs = 50;

/** How often a worker that rests erases what is old, and for how long at a time. */
const sweepIntervalMs = 600_000;
const maxSweepMs = 1_000;

/** What erases old rows. The workers of one outbox or inbox share it: many drains erase no more. */
export interface Sweep {
  /** Erases some of what is old, and returns whether more may be left. */
  eraseSome(): Promise<boolean>;
  /** When nothing old was left, on the monotonic clock. */
  endedAtMs?: number;
}

/** Why a worker rests: its last look found nothing that was due. */
export interface Rest {
  /** How long until something is due; infinite when nothing waits. */
  delayMs: number;
  /** How long until the lease of an attempt of another process expires: see {@link WorkLimits}. */
  leaseDelayMs?: number | undefined;
  /** Whether the database could not be used; then the worker tries again. */
  isUnavailable?: boolean;
}

/** What a worker knows when it plans. Times are those of the monotonic clock. */
export interface WorkerState {
  nowMs: number;
  isStopping: boolean;
  /** How many jobs run, and how many of them are probes. */
  running: number;
  probes: number;
  begun: number;
  /**
   * How many may run beside probes: one while the topic of the last one fails, or may fail, or
   * while one runs alone.
   */
  limit: number;
  lookedAtMs: number;
  /** When the next job may begin, with `maxPerSecond`. */
  nextAtMs: number;
  /** undefined when something may be due. */
  rest: Rest | undefined;
}

/** The options of a worker, and when it ends: never, if these are infinite. */
export type WorkRules = WorkerOptions & Required<Omit<WorkLimits, "getLeaseDelay">>;

/**
 * What a worker does next: it looks for some jobs, waits for a time or until it is woken, or begins
 * nothing more.
 */
type Plan = { look: number } | { waitMs: number } | "end";

/** Decides what a worker does next. */
export function planNext(state: WorkerState, rules: WorkRules): Plan {
  if (isOver(state, rules)) return "end";
  const { nowMs, running, limit, rest } = state;
  if (rest !== undefined) return planRest(state, rest, rules);
  // A probe holds up no job of another topic.
  const free = Math.min(limit + state.probes, rules.concurrency) - running;
  if (free < 1) return planWait(state, rules, rules.pollMs);
  // A lease is a write, so wait a little until half of the places are free: jobs that hang must not
  // hold up the others.
  const isSmall = free < limit / 2;
  if (isSmall && nowMs < state.lookedAtMs + minWaitMs) return planWait(state, rules, minWaitMs);
  if (nowMs < state.nextAtMs) return planWait(state, rules, state.nextAtMs - nowMs);
  const atOnce = rules.maxPerSecond === endless ? free : 1;
  return { look: Math.min(atOnce, rules.maxJobs - state.begun) };
}

/** Whether nothing more begins. */
const isOver = (
  { isStopping, begun, nowMs }: WorkerState,
  { maxJobs, endsAtMs }: WorkRules,
): boolean => isStopping || begun >= maxJobs || nowMs >= endsAtMs;

const planWait = ({ nowMs }: WorkerState, { pollMs, endsAtMs }: WorkRules, ms: number): Plan => ({
  waitMs: Math.max(1, Math.min(ms, pollMs, endsAtMs - nowMs)),
});

/** Decides what to do while nothing is due. */
function planRest(state: WorkerState, rest: Rest, rules: WorkRules): Plan {
  const { delayMs, leaseDelayMs, isUnavailable } = rest;
  const goesOn = state.running > 0 || isUnavailable || delayMs <= rules.maxIdleMs;
  const waitMs = goesOn ? delayMs : leaseDelayMs;
  return waitMs === undefined ? "end" : planWait(state, rules, Math.max(minWaitMs, waitMs));
}

export interface Worker {
  /** Resolves when the worker has ended and its jobs are recorded. */
  readonly ended: Promise<void>;
  /** Looks for jobs now: something was added, or is due earlier. */
  wake(): void;
  /**
   * Begins nothing more, and waits for the jobs that run, at most `graceMs`; then these are
   * aborted. What hangs all the same is not waited for.
   */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a worker: it leases and runs what is due, waits until something is due or a job ends, or
 * stops.
 * @param limits default: it works until it is stopped.
 */
export function startWorker<Leased extends LeasedJob>(
  context: WorkerContext<Leased>,
  options: WorkerOptions,
  limits: WorkLimits = {},
): Worker {
  const { clock } = context;
  const { maxIdleMs = endless, maxJobs = endless, endsAtMs = endless } = limits;
  const rules: WorkRules = { ...options, maxIdleMs, maxJobs, endsAtMs };
  const running = new Map<Promise<unknown>, AbortController>();
  const state = {
    isStopping: false,
    probes: 0,
    begun: 0,
    limit: 1,
    lookedAtMs: Number.NEGATIVE_INFINITY,
    nextAtMs: Number.NEGATIVE_INFINITY,
  };
  /** What the last look found; undefined when it began jobs. */
  let lastRest: Rest | undefined;
  /** Since the last look began, a job ended or was added, or its rest was over. */
  let mayBeDue = true;
  let endWait = () => {};

  async function loop(): Promise<void> {
    for (;;) {
      const plan = planNext(getState(), rules);
      if (plan === "end") break;
      if ("look" in plan) await look(plan.look);
      else await wait(plan.waitMs);
    }
    while (running.size > 0) await Promise.all(running.keys());
  }

  const getState = (): WorkerState => ({
    ...state,
    running: running.size,
    nowMs: clock.monotonicMs(),
    rest: mayBeDue ? undefined : lastRest,
  });

  async function look(count: number): Promise<void> {
    mayBeDue = false;
    state.lookedAtMs = clock.monotonicMs();
    lastRest = await beginJobs(count).catch((error): Rest => {
      context.onUnavailable(error);
      return { delayMs: options.pollMs, isUnavailable: true };
    });
  }

  /** Leases jobs and begins them. When none is due, finds out when one will be. */
  async function beginJobs(count: number): Promise<Rest | undefined> {
    // After a look that found nothing this asks first when something is due: that is one read,
    // where a lease can begin with a write.
    const delayMs = lastRest === undefined ? 0 : await getDelay();
    if (delayMs > 0) return prepareToRest(delayMs);
    const leased = await context.lease(count);
    for (const job of leased) {
      if (isOver(getState(), rules)) await context.giveBack(job);
      else begin(job);
    }
    return leased.length > 0 ? undefined : prepareToRest(await getDelay());
  }

  function begin(job: Leased): void {
    const isProbe = job.probe !== undefined;
    if (isProbe) state.probes += 1;
    else state.limit = job.failures > 0 || job.runsAlone ? 1 : options.concurrency;
    state.begun += 1;
    state.nextAtMs = Math.max(state.nextAtMs, clock.monotonicMs()) + 1_000 / options.maxPerSecond;
    const controller = new AbortController();
    const ended: Promise<unknown> = context.run(job, controller.signal).finally(() => {
      running.delete(ended);
      if (isProbe) state.probes -= 1;
      if (job.runsAlone) state.limit = options.concurrency;
      wake();
    });
    running.set(ended, controller);
  }

  async function getDelay(): Promise<number> {
    const delayMs = await context.getDelay();
    if (delayMs === undefined) return endless;
    if (delayMs <= maxAheadMs) return delayMs;
    await context.correctTimes?.();
    return (await context.getDelay()) ?? endless;
  }

  async function prepareToRest(delayMs: number): Promise<Rest> {
    if (delayMs > 0) await eraseOld(); // also while jobs run: there may always be one
    if (running.size > 0) return { delayMs };
    state.limit = 1;
    if (delayMs > 0) context.onIdle?.();
    if (delayMs <= maxIdleMs) return { delayMs };
    const leaseDelayMs = await limits.getLeaseDelay?.();
    if (leaseDelayMs !== undefined) return { delayMs, leaseDelayMs };
    return { delayMs: await getDelay() }; // an attempt that has just ended may be due soon
  }

  /** Erases what is old, until a job may be due. What is left is for the next rest. */
  async function eraseOld(): Promise<void> {
    const { sweep } = context;
    const startedMs = clock.monotonicMs();
    const { endedAtMs = Number.NEGATIVE_INFINITY } = sweep ?? {};
    if (sweep === undefined || startedMs - endedAtMs < sweepIntervalMs) return;
    while (await sweep.eraseSome()) {
      await new Promise((resolve) => setRealImmediate(resolve)); // SQLite is synchronous
      const isLate = clock.monotonicMs() - startedMs > maxSweepMs;
      if (mayBeDue || isLate || isOver(getState(), rules)) return;
    }
    sweep.endedAtMs = clock.monotonicMs();
  }

  async function wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = clock.after(ms, resolve);
      endWait = () => {
        cancel();
        resolve();
      };
    });
    mayBeDue = true;
  }

  function wake(): void {
    mayBeDue = true;
    endWait();
  }

  const ended = runInNoRequest(loop);
  return {
    ended,
    wake,
    async stop(graceMs) {
      state.isStopping = true;
      wake();
      await endWithin(clock, ended, graceMs, () => {
        for (const controller of running.values()) controller.abort(new Error("The worker stops."));
      });
    },
  };
}

const { AsyncResource } = (getBuiltinModule("node:async_hooks") ?? {}) as {
  AsyncResource?: new (type: string) => { runInAsyncScope<Result>(work: () => Result): Result };
};
/** It has the async context in which this file is loaded, which is that of no request. */
const ownContext = AsyncResource && new AsyncResource("worker");

/**
 * Runs work that has no AsyncLocalStorage store, such as a worker, also when a request started it.
 */
export const runInNoRequest = <Result>(work: () => Result): Result =>
  ownContext === undefined ? work() : ownContext.runInAsyncScope(work);

/** How long aborted work may take to record how it ended. */
const recordingMs = 500;

/**
 * Waits for work that ends, at most `graceMs`; then aborts it. What hangs all the same is not
 * waited for: its lease expires.
 */
export async function endWithin(
  clock: Clock,
  work: Promise<unknown>,
  graceMs: number,
  abort: () => void,
): Promise<void> {
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(graceMs, () => {
      abort();
      cancel = clock.after(recordingMs, resolve);
    });
  });
  await Promise.race([work, late]);
  cancel();
}

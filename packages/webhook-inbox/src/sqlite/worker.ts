/** Runs the handler for each stored event: leased, several at a time, again after a failure, until it is done or dead. */
import { placeOf } from "../failure.ts";
import { checkedNumber, longestTimerMs } from "../number-option.ts";
import type { Report } from "../outcome.ts";
import { attempted, type SqliteHandler } from "./attempt.ts";
import { pauseMs } from "./backoff.ts";
import type { InboxClock } from "./clock.ts";
import type { SqliteDatabase } from "./database.ts";
import { type GroupCommit, synchronous } from "./group-commit.ts";
import type { Claim, Store } from "./store.ts";
import { checkedOptions, type SqliteWorkerOptions } from "./worker-options.ts";

/** A worker that runs. */
export interface SqliteWorker {
  /**
   * Takes no further events and waits for the running handlers, `graceMs` at most (default 10 000). What runs longer is
   * aborted and given back.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export interface Surroundings {
  database: SqliteDatabase;
  store: Store;
  commits: GroupCommit;
  report: Report;
  /** For the lag that is reported. Every time that is stored or compared is of `clock`. */
  now: () => number;
  clock: InboxClock;
  random: () => number;
  retentionMs: number;
}

const sweepEveryMs = 3_600_000;
/** Bounds how long one transaction keeps the event loop. */
const mostForgotten = 100;

export function startWorker(
  { database, store, commits, report, now, clock, random, retentionMs }: Surroundings,
  handler: SqliteHandler,
  options: SqliteWorkerOptions = {},
): SqliteWorker & { wake(): void } {
  if (typeof handler !== "function") throw new TypeError("work needs a handler: work(onEvents({ … })).");
  const { leaseMs, pollMs, concurrency, maxAttempts, handlerTimeoutMs, backoff } = checkedOptions(options);
  const running = new Map<Claim, AbortController>();
  const ending = new Set<Promise<void>>();
  let isStopping = false;
  let isClaiming = false;
  let isWoken = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  const renewal = setInterval(renew, leaseMs / 3);
  void claim();

  function wake(): void {
    if (isStopping) return;
    if (isClaiming) isWoken = true;
    else if (running.size < concurrency) void claim();
  }

  async function claim(): Promise<void> {
    isClaiming = true;
    isWoken = false;
    clearTimeout(timer);
    let lookAgainMs = pollMs;
    try {
      if ((store.nextDueAtMs() ?? Number.POSITIVE_INFINITY) <= clock.nowMs()) await take();
      const dueInMs = (store.nextDueAtMs() ?? Number.POSITIVE_INFINITY) - clock.nowMs();
      lookAgainMs = isWoken ? 0 : Math.min(pollMs, Math.max(0, dueInMs));
      sweep();
    } catch (error) {
      if (!isStopping) report({ outcome: "unavailable", error });
    }
    isClaiming = false;
    if (!isStopping && running.size < concurrency) timer = setTimeout(wake, lookAgainMs);
  }

  async function take(): Promise<void> {
    const { claims, exhausted } = await commits.commit(() => {
      const nowMs = clock.nowMs();
      return store.claim(
        crypto.randomUUID(),
        nowMs + leaseMs,
        nowMs,
        concurrency - running.size,
        maxAttempts,
      );
    });
    for (const { attempt, ...event } of exhausted)
      report({
        outcome: "dead",
        event,
        attempt,
        error: new Error("The process ended during the last attempt."),
      });
    for (const claim of claims) run(claim);
  }

  function run(claim: Claim): void {
    const controller = new AbortController();
    running.set(claim, controller);
    const end = attemptAt(claim, controller).finally(() => ending.delete(end));
    ending.add(end);
  }

  async function attemptAt(claim: Claim, controller: AbortController): Promise<void> {
    const event = { id: claim.id, type: claim.type };
    const { attempt } = claim;
    const startedMs = performance.now();
    try {
      const writes = await attempted(handler, claim, controller, handlerTimeoutMs);
      const ended = commits.commit(
        () => {
          if (!store.done(claim, clock.nowMs())) return false;
          for (const write of writes) synchronous(write(database));
          return true;
        },
        { isIsolated: writes.length > 0 },
      );
      free(claim);
      if (!(await ended)) return report({ outcome: "lease-lost", event, attempt });
      const durationMs = performance.now() - startedMs;
      report({ outcome: "done", event, attempt, durationMs, lagMs: Math.max(0, now() - claim.receivedAtMs) });
    } catch (error) {
      free(claim);
      await failed(claim, error);
    }
  }

  async function failed(claim: Claim, error: unknown): Promise<void> {
    const { id, type, attempt } = claim;
    const event = { id, type };
    if (error === givenBack) {
      await recorded(() => store.release(claim, clock.nowMs()));
      return;
    }
    if (attempt >= maxAttempts) {
      const isMine = await recorded(() => store.dead(claim, clock.nowMs(), placeOf(error)));
      return report(
        isMine ? { outcome: "dead", event, attempt, error } : { outcome: "lease-lost", event, attempt },
      );
    }
    const retryInMs = pauseMs(backoff, attempt, random);
    const isMine = await recorded(() => store.retry(claim, clock.nowMs() + retryInMs, placeOf(error)));
    report(
      isMine
        ? { outcome: "failed", event, attempt, error, retryInMs }
        : { outcome: "lease-lost", event, attempt },
    );
    wake(); // to look when the next one is due
  }

  /** When even the failure cannot be written, the lease ends by itself. */
  async function recorded(work: () => boolean): Promise<boolean> {
    try {
      return await commits.commit(work);
    } catch (error) {
      report({ outcome: "unavailable", error });
      return true;
    }
  }

  function free(claim: Claim): void {
    if (running.delete(claim)) wake();
  }

  /** Only what runs: an event whose end could not be written comes again when its lease ends. */
  function renew(): void {
    const renewals = [...running.keys()].map((claim) =>
      commits.commit(() => store.renew(claim, clock.nowMs() + leaseMs)),
    );
    Promise.all(renewals).catch((error) => report({ outcome: "unavailable", error }));
  }

  function sweep(): void {
    const nowMs = clock.nowMs();
    if (nowMs - sweptAtMs < sweepEveryMs) return;
    commits
      .commit(() => store.forget(nowMs - retentionMs, mostForgotten))
      .then((forgotten) => {
        if (forgotten === 0) sweptAtMs = nowMs;
      })
      .catch((error) => report({ outcome: "unavailable", error }));
  }

  let stopped: Promise<void> | undefined;
  async function stop(graceMs: number): Promise<void> {
    isStopping = true;
    clearTimeout(timer);
    const grace = setTimeout(() => {
      for (const controller of running.values()) controller.abort(givenBack);
    }, graceMs);
    while (isClaiming || ending.size > 0) {
      await Promise.all(ending);
      await new Promise(setImmediate);
    }
    clearTimeout(grace);
    clearInterval(renewal);
  }

  return {
    wake,
    stop({ graceMs = 10_000 } = {}) {
      checkedNumber("graceMs", graceMs, 0, longestTimerMs);
      stopped ??= stop(graceMs);
      return stopped;
    },
  };
}

/** Why a running attempt was aborted: it counts as none. */
const givenBack = new Error("The worker stops.");

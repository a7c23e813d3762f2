/** Runs the handler for each stored event: leased, several at a time, again after a failure, until it is done or dead. */
import type { Delivery, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { bytesOf, eventOf } from "../body-text.ts";
import { placeOf } from "../failure.ts";
import { checkedNumber, longestTimerMs } from "../number-option.ts";
import type { Report } from "../outcome.ts";
import { type Backoff, defaultBackoff, pauseMs } from "./backoff.ts";
import type { SqliteDatabase } from "./database.ts";
import { type GroupCommit, synchronous } from "./group-commit.ts";
import type { Claim, Store } from "./store.ts";

/** One attempt at one event. It is a receiver's delivery too, so that `onEvents` fits. */
export interface SqliteDelivery extends Delivery {
  /** 1 for the first attempt. */
  attempt: number;
  /**
   * Keeps a synchronous function that writes to the inbox's own file. It runs after the handler, in the transaction
   * that marks the event as done: both stand, or neither.
   */
  write(work: (database: SqliteDatabase) => void): void;
}

/** Your work on one event. What it throws or rejects with brings the event again. */
export type SqliteHandler = (event: WebhookEvent, delivery: SqliteDelivery) => unknown;

/** How many events at once, how often, and with which pauses. */
export interface SqliteWorkerOptions {
  /** How many handlers run at once. Default 4. */
  concurrency?: number;
  /** After this many failures the event is a dead letter. Default 20, which takes about nine hours. */
  maxAttempts?: number;
  backoff?: Partial<Backoff>;
  /** A handler that takes longer has failed, and its signal is aborted. Default 60 000. */
  handlerTimeoutMs?: number;
  /** How soon another process takes over what this one held when it died. Default 30 000. */
  leaseMs?: number;
  /** How often to look for events that other processes stored. Default 1 000. */
  pollMs?: number;
}

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
  now: () => number;
  random: () => number;
  retentionMs: number;
}

const sweepEveryMs = 3_600_000;

export function startWorker(
  { database, store, commits, report, now, random, retentionMs }: Surroundings,
  handler: SqliteHandler,
  options: SqliteWorkerOptions = {},
): SqliteWorker & { wake(): void } {
  if (typeof handler !== "function") throw new TypeError("work needs a handler: work(onEvents({ … })).");
  const { leaseMs, pollMs, concurrency, maxAttempts, handlerTimeoutMs, backoff } = checked(options);
  const lease = crypto.randomUUID();
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
      if ((store.nextDueAtMs() ?? Number.POSITIVE_INFINITY) <= now()) await take();
      const dueInMs = (store.nextDueAtMs() ?? Number.POSITIVE_INFINITY) - now();
      lookAgainMs = isWoken ? 0 : Math.min(pollMs, Math.max(0, dueInMs));
      sweep();
    } catch (error) {
      if (!isStopping) report({ outcome: "unavailable", error });
    }
    isClaiming = false;
    if (!isStopping && running.size < concurrency) timer = setTimeout(wake, lookAgainMs);
  }

  async function take(): Promise<void> {
    const { claims, buried } = await commits.commit(() => ({
      buried: store.bury(maxAttempts, now()),
      claims: store.claim(lease, now() + leaseMs, now(), concurrency - running.size),
    }));
    for (const { attempt, ...event } of buried)
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
      const writes = await handled(claim, controller);
      const ended = commits.commit(
        () => {
          if (!store.done(claim, lease, now())) return false;
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

  /** What the handler wants written, once it has ended well. */
  async function handled(claim: Claim, controller: AbortController) {
    const { signal } = controller;
    const writes: ((database: SqliteDatabase) => unknown)[] = [];
    let isOver = false;
    const timeout = setTimeout(
      () => controller.abort(new Error(`The handler took longer than ${handlerTimeoutMs} ms.`)),
      handlerTimeoutMs,
    );
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const delivery: SqliteDelivery = {
      id: undefined,
      rawBody: bytesOf(claim.body),
      receivedAt: new Date(claim.receivedAtMs),
      signal,
      attempt: claim.attempt,
      write(work) {
        if (isOver)
          throw new Error("write was called after the handler had ended; await what comes before it.");
        writes.push(work);
      },
    };
    try {
      await Promise.race([Promise.resolve().then(() => handler(eventOf(claim.body), delivery)), aborted]);
      return writes;
    } finally {
      isOver = true;
      clearTimeout(timeout);
    }
  }

  async function failed(claim: Claim, error: unknown): Promise<void> {
    const { id, type, attempt } = claim;
    const event = { id, type };
    if (error === givenBack) {
      await recorded(() => store.release(claim, lease, now()));
      return;
    }
    if (attempt >= maxAttempts) {
      const isMine = await recorded(() => store.dead(claim, lease, now(), placeOf(error)));
      return report(
        isMine ? { outcome: "dead", event, attempt, error } : { outcome: "lease-lost", event, attempt },
      );
    }
    const retryInMs = pauseMs(backoff, attempt, random);
    const isMine = await recorded(() => store.retry(claim, lease, now() + retryInMs, placeOf(error)));
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

  function renew(): void {
    if (running.size === 0) return;
    commits
      .commit(() => store.renew(lease, now() + leaseMs))
      .catch((error) => {
        report({ outcome: "unavailable", error });
      });
  }

  function sweep(): void {
    if (now() - sweptAtMs < sweepEveryMs) return;
    commits
      .commit(() => store.forget(now() - retentionMs))
      .then((forgotten) => {
        if (forgotten === 0) sweptAtMs = now();
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

function checked(options: SqliteWorkerOptions) {
  const {
    concurrency = 4,
    maxAttempts = 20,
    handlerTimeoutMs = 60_000,
    leaseMs = 30_000,
    pollMs = 1_000,
  } = options;
  const backoff = { ...defaultBackoff, ...options.backoff };
  checkedNumber("concurrency", concurrency, 1, 10_000);
  checkedNumber("maxAttempts", maxAttempts, 1);
  checkedNumber("handlerTimeoutMs", handlerTimeoutMs, 1, longestTimerMs);
  checkedNumber("leaseMs", leaseMs, 100, longestTimerMs);
  checkedNumber("pollMs", pollMs, 1, longestTimerMs);
  checkedNumber("backoff.firstMs", backoff.firstMs, 0);
  checkedNumber("backoff.mostMs", backoff.mostMs, backoff.firstMs);
  return { concurrency, maxAttempts, handlerTimeoutMs, leaseMs, pollMs, backoff };
}

/** The loop of `work` and `drain`: leases what is due, at the rate that the service can handle, until it is stopped or nothing is due. */
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import { sweep } from "./changes.ts";
import type { OutboxDatabase } from "./database.ts";
import { getNextDue } from "./inspect.ts";
import type { LeasedEntry } from "./lease.ts";
import { RateLimiter } from "./rate-limiter.ts";
import type { Report } from "./report.ts";
import type { AttemptResult, Sender } from "./sender.ts";
import { getNow } from "./statement.ts";

/** How fast a worker sends, and how often it looks for entries. */
export interface WorkOptions {
  /** The maximum number of concurrent requests. Default 8 for `work`, 32 for `drain`. The worker adapts the number to the service. */
  concurrency?: number;
  /** The maximum number of requests that begin in a second. Default: no limit. */
  maxPerSecond?: number;
  /** How often to look for entries that other processes added, in milliseconds. Default 1 000. */
  pollMs?: number;
}

export interface LoopContext {
  database: OutboxDatabase;
  sender: Sender;
  report: Report;
  clock: { monotonicMs(): number; after(ms: number, wake: () => void): () => void };
  random: () => number;
  deadlineMs: number;
  retentionMs: number;
  /** Rejects while the tables cannot be used. */
  ready: () => Promise<void>;
}

export interface LoopOptions extends Required<WorkOptions> {
  /** The loop ends when nothing is due within this time and nothing is running. If infinite, it does not end by itself. */
  maxIdleMs: number;
  maxEntries: number;
  /** On the monotonic clock. */
  endsAtMs: number;
  /** Called after attempts, and at least once in `pollMs`. */
  onProgress?: (result?: AttemptResult) => void;
}

/** @throws {TypeError} naming the option. */
export function parseWorkOptions(options: WorkOptions, concurrency: number): Required<WorkOptions> {
  const parsed = {
    concurrency: options.concurrency ?? concurrency,
    maxPerSecond: options.maxPerSecond ?? Number.POSITIVE_INFINITY,
    pollMs: options.pollMs ?? 1_000,
  };
  requireInteger("concurrency", parsed.concurrency, 1, 1_000);
  requireNumber("maxPerSecond", parsed.maxPerSecond, 0.01, Number.POSITIVE_INFINITY);
  requireNumber("pollMs", parsed.pollMs, 1, maxTimerMs);
  return parsed;
}

/** @throws {TypeError} naming the option, its range and its value. */
export function requireNumber(name: string, value: unknown, min: number, max: number): void {
  if (typeof value === "number" && value >= min && value <= max) return;
  throw new TypeError(`${name} must be a number from ${min} to ${max}; it is ${String(value)}.`);
}

/** @throws {TypeError} naming the option, its range and its value. */
export function requireInteger(name: string, value: unknown, min: number, max: number): void {
  requireNumber(name, value, min, max);
  if (Number.isInteger(value) || value === Number.POSITIVE_INFINITY) return;
  throw new TypeError(`${name} must be an integer; it is ${String(value)}.`);
}

/** Also how often an idle worker records the time, so that a standby server that is promoted is not treated as a copy. */
const sweepIntervalMs = 600_000;
/** The delay before the next lease when another process has locked the row that is due. */
const lockedRetryMs = 50;

/** While requests are running, the next lease waits until this share of the concurrency is free, because each lease is a transaction. */
const minFreeShare = 0.5;

export class Loop {
  readonly #context: LoopContext;
  readonly #options: LoopOptions;
  readonly #rate: RateLimiter;
  readonly #stopping = new AbortController();
  /** Attempts that are not recorded yet. */
  readonly #attempts = new Set<Promise<unknown>>();
  /** How many of them have no response yet. */
  #sending = 0;
  #wake = () => {};
  #isWoken = false;
  #isStopping = false;
  /** Whether nothing was due at the last lease. A lease is a write, so the next one waits until something is due. */
  #isIdle = false;
  #started = 0;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  /** Resolves when the loop has ended and its attempts are recorded. */
  readonly ended: Promise<void>;

  constructor(context: LoopContext, options: LoopOptions) {
    this.#context = context;
    this.#options = options;
    const { concurrency, maxPerSecond } = options;
    this.#rate = new RateLimiter({ concurrency, maxPerSecond, clock: context.clock, random: context.random });
    this.ended = this.#run();
  }

  /** Looks for entries now. */
  poll(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Ends the loop: nothing more is leased. */
  stop(): void {
    this.#isStopping = true;
    this.poll();
  }

  /** Aborts the running requests: their entries wait for another attempt. */
  abort(): void {
    this.#stopping.abort(new Error("The worker stops."));
  }

  get #isOver(): boolean {
    const { clock } = this.#context;
    const { maxEntries, endsAtMs } = this.#options;
    return this.#isStopping || this.#started >= maxEntries || clock.monotonicMs() >= endsAtMs;
  }

  /** Whether attempts of this loop, of another one or of `issue` are running. */
  get #isRunning(): boolean {
    return this.#attempts.size > 0 || this.#context.sender.running.size > 0;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const delayMs = this.#rate.getDelayMs(this.#sending);
      if (delayMs === undefined || delayMs > 0) {
        await this.#sleep(delayMs ?? this.#options.pollMs);
        continue;
      }
      const waitMs = await this.#leaseAndStart();
      if (waitMs === undefined) break;
      if (waitMs > 0) await this.#sleep(waitMs);
    }
    while (this.#attempts.size > 0) await Promise.all(this.#attempts);
    try {
      if (!this.#isStopping) await this.#sweep();
      this.#context.database.tidy();
    } catch (error) {
      this.#context.report({ outcome: "unavailable", error });
    }
  }

  /** @returns how long to wait before the next lease; undefined when the loop ends. */
  async #leaseAndStart(): Promise<number | undefined> {
    const { sender, report, deadlineMs, ready } = this.#context;
    const { maxEntries, pollMs } = this.#options;
    this.#isWoken = false;
    this.#options.onProgress?.();
    try {
      await ready();
      if (this.#isIdle) {
        const waitMs = await this.#getWaitMs();
        if (waitMs !== 0) return waitMs;
      }
      const { concurrency } = this.#rate;
      const free = concurrency - this.#sending;
      const unrecorded = this.#attempts.size - this.#sending;
      if (this.#sending > 0 && free < concurrency * minFreeShare) return pollMs;
      if (unrecorded > 2 * concurrency) return pollMs; // the database is slower than the service
      const { startsAtOnce } = this.#rate;
      const limit = Math.max(1, Math.min(free, startsAtOnce, maxEntries - this.#started));
      const { pauseCount } = sender;
      const result = await sender.lease(limit, deadlineMs);
      const leased = result === "paused" ? [] : result.leased;
      await this.#startAll(leased, () => this.#isOver || sender.pauseCount !== pauseCount);
      this.#isIdle = leased.length === 0;
      if (!this.#isIdle) return 0;
      if (result === "paused") return Number.isFinite(this.#options.maxIdleMs) ? undefined : pollMs;
      const waitMs = await this.#getWaitMs();
      return waitMs === undefined ? undefined : Math.max(waitMs, this.#isRunning ? pollMs : lockedRetryMs);
    } catch (error) {
      report({ outcome: "unavailable", error });
      return pollMs;
    }
  }

  /** @returns how long until something is due; undefined when the loop ends. */
  async #getWaitMs(): Promise<number | undefined> {
    const { database } = this.#context;
    const { maxIdleMs, pollMs } = this.#options;
    const [nextMs, nowMs] = await database.read(readNextDue());
    const dueInMs = (nextMs ?? Number.POSITIVE_INFINITY) - nowMs;
    if (this.#isRunning) return Math.min(pollMs, Math.max(0, dueInMs));
    if (dueInMs > 0) {
      await this.#sweep();
      database.tidy();
    }
    return dueInMs > maxIdleMs ? undefined : Math.min(pollMs, Math.max(0, dueInMs));
  }

  /** Sends entries at the rate. The lease of those that may not be sent any more is undone. */
  async #startAll(leased: readonly LeasedEntry[], isStopped: () => boolean): Promise<void> {
    for (const [index, entry] of leased.entries()) {
      for (;;) {
        const delayMs = this.#rate.getDelayMs(this.#sending);
        if (delayMs === 0 || isStopped()) break;
        await this.#sleep(delayMs ?? this.#options.pollMs);
      }
      if (isStopped()) return this.#context.sender.returnUnsent(leased.slice(index));
      this.#start(entry);
    }
  }

  #start(entry: LeasedEntry): void {
    const { sender, deadlineMs } = this.#context;
    this.#started += 1;
    const request = this.#rate.start();
    let isSending = true;
    const free = (end: AttemptResult["end"]) => {
      if (!isSending) return;
      isSending = false;
      this.#sending -= 1;
      if (end !== "delivered") this.#rate.end(request, end);
      this.poll();
    };
    // After a failure the next request waits until the failure is recorded, because that may begin a pause.
    const onEnded = () => free("responded");
    const attempt = sender
      .run(entry, { deadlineMs, signal: this.#stopping.signal, onEnded })
      .then((result) => {
        free(result.end);
        this.#attempts.delete(attempt);
        this.#options.onProgress?.(result);
        this.poll();
      });
    this.#sending += 1;
    this.#attempts.add(attempt);
  }

  /** Sleeps. It ends early when an attempt ends, an entry is added or the loop is stopped. */
  #sleep(ms: number): Promise<void> {
    const { clock } = this.#context;
    const { endsAtMs, pollMs } = this.#options;
    // The sleep takes at least a turn of the event loop, even when the time is over.
    const waitMs = this.#isWoken ? 0 : Math.max(1, Math.min(ms, pollMs, endsAtMs - clock.monotonicMs()));
    this.#isWoken = false;
    return new Promise((resolve) => {
      const cancel = clock.after(waitMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  async #sweep(): Promise<void> {
    const { database, clock, retentionMs } = this.#context;
    if (clock.monotonicMs() - this.#sweptAtMs < sweepIntervalMs) return;
    while (await database.write(sweep(retentionMs)));
    this.#sweptAtMs = clock.monotonicMs();
  }
}

function* readNextDue() {
  return [yield* getNextDue(), yield* getNow()] as const;
}

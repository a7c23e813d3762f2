/** Progress of a bulk run: counts, rate and remaining time. */
import { notify } from "@loyalty-cards/internal/reporting";
import type { Clock } from "../clock.ts";

/** What `onProgress` is called with. */
export interface BulkProgress {
  /** Rows that were read from the source. */
  read: number;
  issued: number;
  /** Rows that the checkpoint has; nothing was sent. */
  replayed: number;
  rejected: number;
  unknown: number;
  /** Requests that are running. */
  inFlight: number;
  /** Since the run began, in milliseconds. */
  elapsedMs: number;
  /** Rows that were sent and have a result, per second, in the last 30 seconds. */
  perSecond: number;
  /** How many requests the run allows at once now. */
  concurrency: number;
  /** Only while the run is paused: for how much longer, in milliseconds. */
  pausedMs?: number;
  /** The option. */
  total?: number;
  /** Only with `total`, after the first seconds: the remaining time, in milliseconds. */
  etaMs?: number;
}

export type ResultCounts = Pick<BulkProgress, "issued" | "replayed" | "rejected" | "unknown">;

export interface ProgressFacts {
  read: number;
  inFlight: number;
  /** A timer will send the next row. */
  isWaiting: boolean;
  concurrency: number;
  pausedMs: number;
  counts: ResultCounts;
}

/** How often progress is reported. */
const intervalMs = 500;

/** The rate is measured over this time, and not in the first seconds, in which programs and connections are slower. */
const windowMs = 30_000;
const warmUpMs = 2_500;
const minMeasuredMs = 2_500;

interface ProgressOptions {
  clock: Clock;
  total: number | undefined;
  onProgress: ((progress: BulkProgress) => void) | undefined;
}

export class Progress {
  readonly #options: ProgressOptions;
  readonly #issuedBefore: number;
  readonly #readFacts: () => ProgressFacts;
  readonly #startedAtMs: number;
  /** Times with the number of rows that were sent until then. */
  #samples: { atMs: number; sent: number }[] = [];
  #cancelTimer: (() => void) | undefined;

  /** @param issuedBefore cards that an earlier run has issued. */
  constructor(options: ProgressOptions, issuedBefore: number, readFacts: () => ProgressFacts) {
    this.#options = options;
    this.#issuedBefore = issuedBefore;
    this.#readFacts = readFacts;
    this.#startedAtMs = options.clock.monotonicMs();
  }

  /** Reports while requests run or wait: the timer does not keep a program alive that does not consume the results. */
  start(): void {
    const { clock, onProgress } = this.#options;
    if (this.#cancelTimer !== undefined || onProgress === undefined) return;
    this.#cancelTimer = clock.after(intervalMs, () => {
      this.#cancelTimer = undefined;
      this.#report();
      const { inFlight, isWaiting } = this.#readFacts();
      if (inFlight > 0 || isWaiting) this.start();
    });
  }

  /** Reports a last time. */
  end(): void {
    this.#cancelTimer?.();
    this.#report();
  }

  #report(): void {
    notify(this.#options.onProgress, this.#measure(this.#readFacts()));
  }

  #measure({ read, inFlight, concurrency, pausedMs, counts }: ProgressFacts): BulkProgress {
    const { clock, total } = this.#options;
    const atMs = clock.monotonicMs();
    const elapsedMs = atMs - this.#startedAtMs;
    const sent = counts.issued + counts.rejected + counts.unknown;
    if (elapsedMs >= warmUpMs) this.#samples.push({ atMs, sent });
    this.#samples = this.#samples.filter((sample) => atMs - sample.atMs <= windowMs);

    const first = this.#samples[0] ?? { atMs, sent };
    const isMeasured = atMs - first.atMs >= minMeasuredMs;
    const from = isMeasured ? first : { atMs: this.#startedAtMs, sent: 0 };
    const perSecond = atMs > from.atMs ? ((sent - from.sent) * 1000) / (atMs - from.atMs) : 0;
    const left =
      total === undefined
        ? undefined
        : Math.max(0, total - sent - Math.max(this.#issuedBefore, counts.replayed));
    const etaMs =
      left === 0
        ? 0
        : left !== undefined && isMeasured && perSecond > 0
          ? (left * 1000) / perSecond
          : undefined;
    return {
      read,
      ...counts,
      inFlight,
      elapsedMs: Math.round(elapsedMs),
      perSecond: Math.round(perSecond * 10) / 10,
      concurrency,
      ...(pausedMs > 0 && { pausedMs: Math.round(pausedMs) }),
      ...(total !== undefined && { total }),
      ...(etaMs !== undefined && { etaMs: Math.round(etaMs) }),
    };
  }
}

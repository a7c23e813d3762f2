/** Progress of a bulk run: counts, rate and remaining time. */
import { notify } from "@loyalty-cards/internal/reporting";
import type { Clock } from "../clock.ts";
import type { IssuingError } from "../errors.ts";

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
  /** Only while the run is paused: the last failure, which says why. Its `message` has no personal data. */
  pausedBy?: IssuingError;
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
  lastFailure: IssuingError | undefined;
  counts: ResultCounts;
}

/** How often progress is reported. */
const intervalMs = 500;

/** The rate is measured over this time, and not in the first seconds, in which programs and connections are slower. */
const windowMs = 30_000;
const warmUpMs = 2_500;
const minMeasuredMs = 2_500;
/** Results come in rounds of as many as are in flight: of a slow service, over this number of rounds or the whole window. */
const minMeasuredRounds = 10;

/** How many rows were sent and had a result at a time. */
interface Sample {
  atMs: number;
  sent: number;
}

const countSent = ({ issued, rejected, unknown }: ResultCounts) => issued + rejected + unknown;

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
  /** When the measurement began. */
  #from: Sample;
  #samples: Sample[] = [];
  /** As counted when the timer was started last. */
  #replayed = 0;
  #cancelTimer: (() => void) | undefined;

  /** @param issuedBefore cards that an earlier run has issued. */
  constructor(options: ProgressOptions, issuedBefore: number, readFacts: () => ProgressFacts) {
    this.#options = options;
    this.#issuedBefore = issuedBefore;
    this.#readFacts = readFacts;
    this.#startedAtMs = options.clock.monotonicMs();
    this.#from = { atMs: this.#startedAtMs, sent: 0 };
  }

  /** Reports while requests run or wait: the timer does not keep a program alive that does not consume the results. */
  start(): void {
    const { clock, onProgress } = this.#options;
    if (this.#cancelTimer !== undefined || onProgress === undefined) return;
    this.#skipReplayed();
    this.#cancelTimer = clock.after(intervalMs, () => {
      this.#cancelTimer = undefined;
      this.#report();
      const { inFlight, isWaiting } = this.#readFacts();
      if (inFlight > 0 || isWaiting) this.start();
    });
  }

  /** Begins again after a time in which rows of an earlier run were read, and the service had less to do than it can. */
  #skipReplayed(): void {
    const { inFlight, isWaiting, concurrency, counts } = this.#readFacts();
    const hasReplayed = counts.replayed > this.#replayed;
    this.#replayed = counts.replayed;
    if (!hasReplayed || isWaiting || inFlight >= concurrency) return;
    this.#from = { atMs: this.#options.clock.monotonicMs(), sent: countSent(counts) };
    this.#samples = [];
  }

  /** Reports a last time. */
  end(): void {
    this.#cancelTimer?.();
    this.#report();
  }

  #report(): void {
    notify(this.#options.onProgress, this.#measure(this.#readFacts()));
  }

  #measure(facts: ProgressFacts): BulkProgress {
    const { read, inFlight, concurrency, pausedMs, lastFailure, counts } = facts;
    const { clock, total } = this.#options;
    const atMs = clock.monotonicMs();
    const sent = countSent(counts);
    if (atMs - this.#from.atMs >= warmUpMs) this.#samples.push({ atMs, sent });
    this.#samples = this.#samples.filter((sample) => atMs - sample.atMs <= windowMs);

    const first = this.#samples[0] ?? { atMs, sent };
    const measuredMs = atMs - first.atMs;
    const isWhole =
      sent - first.sent >= minMeasuredRounds * inFlight || measuredMs > windowMs - 2 * intervalMs;
    const isMeasured = measuredMs >= minMeasuredMs && isWhole;
    const from = isMeasured ? first : this.#from;
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
      elapsedMs: Math.round(atMs - this.#startedAtMs),
      perSecond: Math.round(perSecond * 10) / 10,
      concurrency,
      ...(pausedMs > 0 && { pausedMs: Math.round(pausedMs) }),
      ...(pausedMs > 0 && lastFailure !== undefined && { pausedBy: lastFailure }),
      ...(total !== undefined && { total }),
      ...(etaMs !== undefined && { etaMs: Math.round(etaMs) }),
    };
  }
}

/** Progress of a bulk run: counts, rate and remaining time. */
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
  concurrency: number;
  pausedMs: number;
  counts: ResultCounts;
}

/** How often progress is reported. */
export const progressIntervalMs = 500;

/** The rate is measured over this time, and not in the first seconds, in which programs and connections are slower. */
const windowMs = 30_000;
const warmUpMs = 2_500;
const minMeasuredMs = 2_500;

export interface ProgressOptions {
  clock: Clock;
  total: number | undefined;
  /** Cards that an earlier run has issued. */
  issuedBefore: number;
}

export class ProgressMeter {
  readonly #options: ProgressOptions;
  readonly #startedAtMs: number;
  /** Times with the number of rows that were sent until then. */
  #samples: { atMs: number; sent: number }[] = [];

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startedAtMs = options.clock.monotonicMs();
  }

  measure({ read, inFlight, concurrency, pausedMs, counts }: ProgressFacts): BulkProgress {
    const { clock, total, issuedBefore } = this.#options;
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
      total === undefined ? undefined : Math.max(0, total - sent - Math.max(issuedBefore, counts.replayed));
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

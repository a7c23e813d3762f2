/** The rate of a worker: how many requests run at once, how many start per second, and when it pauses. */

/** Both limits rise by addition and fall by multiplication (AIMD), as in TCP. */
export const ratePolicy = {
  /** The number of concurrent requests at the start. Each success adds one, until the service slows down. */
  initialConcurrency: 4,
  /** The factors by which a limit falls after a 429, after failures, and after a rise of the latency. */
  afterTooMany: 0.9,
  afterFailures: 0.5,
  afterLatency: 0.8,
  /** 429 is a reason to limit the requests per second when it is more than this share of the last 256 or so responses. */
  tolerableTooMany: 0.01,
  /** Failures are a reason to slow down when they are more than this share of the last 32 or so requests. */
  tolerableFailures: 0.1,
  /** The latency has risen when it is `factor` times the usual one, and `ms` more. */
  latency: { factor: 2, ms: 100 },
  /** The learned limit per second is never below this, and rises by at least half of it in each second. */
  minPerSecond: 1,
  /** The limit per second rises by a tenth in the first second. Each later increase is 1.3 times the last. */
  growth: 1.3,
  /** After this many failures in a row the worker pauses, then sends one request. Each pause is twice as long as the previous one. */
  failuresInARow: 8,
  initialPauseMs: 1_000,
  maxPauseMs: 10_000,
  /** How far the rate per second may fall behind and catch up, because timers are late. */
  burstMs: 10,
} as const;

/** How a request ended. */
export type RequestEnd =
  /** A response about the entry: an issued card, or a rejection. */
  "responded" | "rate-limited" | "failed";

/** A request that was started. Only requests that started after the last decrease can cause the next one. */
export interface StartedRequest {
  readonly atMs: number;
  readonly epoch: number;
}

export interface RateOptions {
  concurrency: number;
  maxPerSecond: number;
  clock: { monotonicMs(): number };
  random: () => number;
}

export class RateLimiter {
  readonly #options: RateOptions;
  #concurrency: number;
  /** Below this concurrency each success adds one; above it, each round of requests. */
  #threshold: number;
  #perSecond: number;
  #perSecondStep = 0;
  #grewAtMs = 0;
  /** Whether a request had to wait for the limit per second since that limit last rose. */
  #isRateTheLimit = false;
  #nextStartMs = 0;
  #pausedUntilMs = 0;
  #pauses = 0;
  #failuresInARow = 0;
  /** Shares, as moving averages: of failures among about 32 requests, and of 429 among about 256. */
  #recentFailures = 0;
  #tooMany = 0;
  #epoch = 0;
  #usualLatencyMs: number | undefined;
  #round = { responses: 0, latencyMs: 0 };
  /** Responses of this second, and how many there were per second before it. */
  #second = { startedAtMs: 0, responses: 0, perSecond: 0 };

  constructor(options: RateOptions) {
    this.#options = options;
    this.#concurrency = Math.min(ratePolicy.initialConcurrency, options.concurrency);
    this.#threshold = options.concurrency;
    this.#perSecond = options.maxPerSecond;
    this.#second.startedAtMs = this.#now();
  }

  get concurrency(): number {
    return Math.floor(this.#concurrency);
  }

  /** How many requests may start within a tenth of a second. */
  get startsAtOnce(): number {
    return Math.max(1, Math.floor(this.#perSecond / 10));
  }

  get pausedMs(): number {
    return Math.max(0, this.#pausedUntilMs - this.#now());
  }

  /** @returns how long to wait before the next request; undefined to wait until a running one has ended. */
  getDelayMs(inFlight: number): number | undefined {
    const { pausedMs } = this;
    if (pausedMs > 0) return pausedMs;
    if (inFlight >= this.concurrency) return undefined;
    const delayMs = Math.max(0, this.#nextStartMs - this.#now());
    if (delayMs > 0) this.#isRateTheLimit = true;
    return delayMs;
  }

  start(): StartedRequest {
    const nowMs = this.#now();
    if (this.#perSecond !== Number.POSITIVE_INFINITY) {
      const intervalMs = 1000 / this.#perSecond;
      // After a late start the next requests start earlier, within the burst. No second has more requests than the limit.
      const burstMs = intervalMs < ratePolicy.burstMs ? ratePolicy.burstMs : 0;
      const spacingMs = intervalMs * (1 + burstMs / 1000);
      this.#nextStartMs = Math.max(this.#nextStartMs, nowMs - burstMs) + spacingMs;
    }
    return { atMs: nowMs, epoch: this.#epoch };
  }

  end(request: StartedRequest, end: RequestEnd): void {
    const nowMs = this.#now();
    const failed = end === "responded" ? 0 : 1;
    this.#recentFailures += (failed - this.#recentFailures) / 32;
    this.#tooMany += (Number(end === "rate-limited") - this.#tooMany) / 256;
    if (end === "responded") this.#succeed(nowMs, nowMs - request.atMs);
    else this.#fail(request, end, nowMs);
  }

  #fail(request: StartedRequest, end: "rate-limited" | "failed", nowMs: number): void {
    this.#failuresInARow += 1;
    if (request.epoch !== this.#epoch) return; // the limits have been lowered since this request began
    const { tolerableTooMany, tolerableFailures, afterFailures } = ratePolicy;
    const isTooMany = end === "rate-limited";
    if (isTooMany && this.#tooMany > tolerableTooMany) this.#decreasePerSecond(nowMs);
    if (!isTooMany && this.#recentFailures > tolerableFailures) this.#decreaseConcurrency(afterFailures);
    if (this.#failuresInARow >= ratePolicy.failuresInARow) this.#pause(nowMs);
  }

  #succeed(nowMs: number, latencyMs: number): void {
    this.#failuresInARow = 0;
    this.#pauses = 0;
    this.#countResponse(nowMs);
    this.#increasePerSecond(nowMs);
    const { concurrency } = this.#options;
    const step = this.#concurrency < this.#threshold ? 1 : 1 / this.#concurrency;
    this.#concurrency = Math.min(concurrency, this.#concurrency + step);
    this.#observeLatency(latencyMs);
  }

  #countResponse(nowMs: number): void {
    const second = this.#second;
    second.responses += 1;
    const passedMs = nowMs - second.startedAtMs;
    if (passedMs < 1000) return;
    this.#second = { startedAtMs: nowMs, responses: 0, perSecond: (second.responses * 1000) / passedMs };
  }

  /** Returns the responses per second: in this second so far, or in the previous one if that had more. */
  #measurePerSecond(nowMs: number): number {
    const { startedAtMs, responses, perSecond } = this.#second;
    return Math.max(perSecond, (responses * 1000) / Math.max(100, nowMs - startedAtMs));
  }

  #decreasePerSecond(nowMs: number): void {
    this.#epoch += 1;
    const reached = Math.min(this.#perSecond, this.#measurePerSecond(nowMs));
    this.#perSecond = Math.max(ratePolicy.minPerSecond, reached * ratePolicy.afterTooMany);
    this.#perSecondStep = Math.max(ratePolicy.minPerSecond / 2, reached / 10);
    this.#grewAtMs = nowMs;
    this.#isRateTheLimit = false;
  }

  #increasePerSecond(nowMs: number): void {
    if (!this.#isRateTheLimit || this.#perSecond >= this.#options.maxPerSecond) return;
    const seconds = Math.min(1, (nowMs - this.#grewAtMs) / 1000);
    this.#perSecond = Math.min(this.#options.maxPerSecond, this.#perSecond + this.#perSecondStep * seconds);
    this.#perSecondStep *= ratePolicy.growth ** seconds;
    this.#grewAtMs = nowMs;
    this.#isRateTheLimit = false;
  }

  #decreaseConcurrency(factor: number): void {
    this.#epoch += 1;
    this.#concurrency = Math.max(1, this.#concurrency * factor);
    this.#threshold = this.#concurrency;
    this.#round = { responses: 0, latencyMs: 0 };
  }

  /** Compares the mean of one round of requests with the usual latency, which follows slowly when the service stays slower. */
  #observeLatency(latencyMs: number): void {
    const round = this.#round;
    round.responses += 1;
    round.latencyMs += latencyMs;
    if (round.responses < Math.max(16, this.#concurrency)) return;
    const meanMs = round.latencyMs / round.responses;
    this.#round = { responses: 0, latencyMs: 0 };
    const usualMs = this.#usualLatencyMs ?? meanMs;
    const { factor, ms } = ratePolicy.latency;
    if (meanMs > factor * usualMs + ms) this.#decreaseConcurrency(ratePolicy.afterLatency);
    this.#usualLatencyMs = Math.min(meanMs, usualMs * 1.05 + 1);
  }

  #pause(nowMs: number): void {
    const { initialPauseMs, maxPauseMs } = ratePolicy;
    const pauseMs = Math.min(maxPauseMs, initialPauseMs * 2 ** this.#pauses);
    this.#pauses += 1;
    this.#epoch += 1;
    this.#threshold = Math.max(2, this.#concurrency / 2, this.#threshold / 2);
    this.#concurrency = 1;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs * (0.5 + this.#options.random() / 2));
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}

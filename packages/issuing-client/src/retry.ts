/** Retries: which ends of an attempt are temporary, how long to wait, and what they mean for the card. */
import type { Outcome } from "./errors.ts";
import { type AttemptResult, isResponse } from "./response.ts";

export const retryPolicy = {
  /** Upper bound of the first delay. It doubles with each retry. */
  initialDelayMs: 300,
  maxDelayMs: 5_000,
  /** After a 409 or 423 the first request with this key may still run. `maxMs` is the limit when no earlier attempt is known. */
  conflict: { minDelayMs: 100, maxDelayMs: 1_000, maxMs: 5_000 },
} as const;

/** Besides every 5xx. */
export const retryableStatuses: readonly number[] = [408, 425, 429];

/** Whether a response with this status may be temporary ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
export const isRetryableStatus = (status: number): boolean =>
  retryableStatuses.includes(status) || status >= 500;

/** Whether another attempt may succeed. */
export const isRetryable = (result: AttemptResult): boolean =>
  isResponse(result) ? isRetryableStatus(result.status) : result.retryable;

/** Whether a response says that another request with the same key may still run. */
export const mayStillRun = (result: AttemptResult, idempotencyKey: string | undefined): boolean =>
  (result.status === 409 || result.status === 423) && idempotencyKey !== undefined;

/** Whether sending a request twice has the effect of sending it once. */
export const isIdempotent = (method: string, idempotencyKey: string | undefined): boolean =>
  idempotencyKey !== undefined || ["GET", "HEAD", "PUT", "DELETE"].includes(method);

const outcomes: readonly Outcome[] = ["not-sent", "rejected", "unknown"];

/** Returns the outcome of a call after one more attempt: the less certain one. After a 5xx, a 408 or a lost response the card may exist; after another 4xx it does not. */
export function addOutcome(outcome: Outcome, result: AttemptResult): Outcome {
  let next: Outcome;
  if (isResponse(result)) next = result.status >= 500 || result.status === 408 ? "unknown" : "rejected";
  else next = result.wasSent ? "unknown" : "not-sent";
  return outcomes.indexOf(next) > outcomes.indexOf(outcome) ? next : outcome;
}

/**
 * Exponential backoff with full jitter: callers that failed together retry at different times.
 * @param retry 1 for the first retry.
 * @param random returns a number from 0 to 1.
 */
export function getBackoffMs(retry: number, random: () => number): number {
  const { initialDelayMs, maxDelayMs } = retryPolicy;
  return Math.round(random() * Math.min(maxDelayMs, initialDelayMs * 2 ** (retry - 1)));
}

/** Reads `Retry-After`, seconds or a date (RFC 9110, 10.2.3). @returns milliseconds from now, 0 for a date in the past; undefined without a valid one. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  if (!/^[A-Z][a-z]{2,8},? /.test(value)) return undefined; // Date.parse reads other text too
  const atMs = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

export const getRetryAfterMs = (result: AttemptResult, nowMs: number): number | undefined =>
  isResponse(result) ? parseRetryAfter(result.header("retry-after"), nowMs) : undefined;

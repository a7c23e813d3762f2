/** Retries: which failures are retried, and how long to wait. */
import { type AttemptResult, attempt, isFailure } from "./attempt.ts";
import type { Call } from "./call.ts";
import { sleep } from "./clock.ts";
import type { Outcome } from "./errors.ts";
import type { Transport, TransportRequest } from "./transport.ts";

export const retryPolicy = {
  /** Upper bound of the first delay. It doubles with each retry. */
  initialDelayMs: 300,
  maxDelayMs: 5_000,
  /** Lower bound of the delay after a 409 or 423, which is retried until the deadline. */
  minConflictDelayMs: 100,
} as const;

/** Besides every 5xx. */
export const retryableStatuses: readonly number[] = [408, 425, 429];

/** Whether a response with this status may be temporary ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). */
export function isRetryableStatus(status: number): boolean {
  return retryableStatuses.includes(status) || status >= 500;
}

/**
 * Whether a 409 or 423 may mean that an earlier attempt with the same key is still running: an attempt of this call whose result is
 * unknown, or one before the call. The response then says nothing about the card, and the same call may succeed later.
 */
export function mayStillRun(call: Call, status: number): boolean {
  const isConflict = (status === 409 || status === 423) && call.idempotencyKey !== undefined;
  return isConflict && (call.hasEarlierAttempt || call.outcome === "unknown");
}

/** Whether sending a request twice has the effect of sending it once. */
export function isIdempotent(method: string, headers: Readonly<Record<string, string>>): boolean {
  return ["GET", "HEAD", "PUT", "DELETE"].includes(method) || Object.hasOwn(headers, "idempotency-key");
}

/**
 * Exponential backoff with full jitter: callers that failed together retry at different times.
 * @param retry 1 for the first retry.
 * @param random returns a number from 0 to 1.
 */
export function getDelayMs(retry: number, random: () => number): number {
  const { initialDelayMs, maxDelayMs } = retryPolicy;
  return Math.round(random() * Math.min(maxDelayMs, initialDelayMs * 2 ** (retry - 1)));
}

export interface RetryOptions {
  transport: Transport;
  random: () => number;
}

/**
 * Sends a request until it succeeds, cannot be retried, or no retry or time is left.
 * @returns the result of the last attempt.
 * @throws {TimeLimitError} at the deadline; the reason of the call's signal.
 */
export async function sendWithRetries(
  call: Call,
  url: string,
  request: TransportRequest,
  { transport, random }: RetryOptions,
): Promise<AttemptResult> {
  const { clock, signal } = call;
  const canRepeat = isIdempotent(request.method, request.headers);
  let failures = 0;
  for (;;) {
    const number = call.beginAttempt(request.method);
    const result = await attempt(call, transport, url, request);
    call.endAttempt(toOutcome(result));
    // A conflict does not count as a failure: it is retried until the deadline, unless retries are disabled.
    const isConflict = !isFailure(result) && mayStillRun(call, result.status);
    const isRetryable =
      isConflict || (isFailure(result) ? result.retryable : isRetryableStatus(result.status));
    if (!isRetryable) return result;
    if (!isConflict) failures += 1;

    const requestedMs = isFailure(result)
      ? undefined
      : parseRetryAfter(result.head.header("retry-after"), clock.now());
    const minDelayMs = isConflict ? retryPolicy.minConflictDelayMs : 0;
    const delayMs = Math.max(minDelayMs, requestedMs ?? getDelayMs(number, random));
    const hasRetries = call.maxRetries > 0 && failures <= call.maxRetries;
    const canRetry = canRepeat && hasRetries && delayMs < call.remainingMs();
    if (!canRetry) return result;

    const failure = isFailure(result) ? { code: result.code } : { status: result.status };
    call.notify({ type: "retry", attempt: number, ...failure, delayMs });
    await sleep(clock, delayMs, signal);
    if (call.isOver()) return result; // the timer fired late
  }
}

/** After an error of the service or the network the request may have had its effect; after a 4xx it had none. */
function toOutcome(result: AttemptResult): Outcome {
  if (isFailure(result)) return result.wasSent ? "unknown" : "not-sent";
  return result.status >= 500 || result.status === 408 ? "unknown" : "rejected";
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const month = `(?<month>${months.join("|")})`;
const time = "(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)";
/** The three date formats of RFC 9110, 5.6.7. */
const dateFormats = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`), // IMF-fixdate
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`), // RFC 850
  new RegExp(`^[A-Z][a-z]{2} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`), // asctime
];

/**
 * Parses `Retry-After`, seconds or a date (RFC 9110, 10.2.3).
 * @returns milliseconds from now, 0 for a date in the past, undefined when the header is absent or malformed.
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  const value = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(value)) return Number(value) * 1000;
  const atMs = parseHttpDate(value, nowMs);
  return atMs === undefined ? undefined : Math.max(0, atMs - nowMs);
}

function parseHttpDate(value: string, nowMs: number): number | undefined {
  const parts = dateFormats
    .map((format) => format.exec(value)?.groups)
    .find((groups) => groups !== undefined);
  if (parts === undefined) return undefined;
  const [day, hour, minute, second] = ["day", "hour", "minute", "second"].map((name) => Number(parts[name]));
  const year = toFullYear(parts["year"] ?? "", new Date(nowMs).getUTCFullYear());
  const midnight = new Date(Date.UTC(year, months.indexOf(parts["month"] ?? ""), day));
  // Date.UTC turns 31 April into 1 May.
  if (midnight.getUTCDate() !== day) return undefined;
  return midnight.setUTCHours(hour ?? 0, minute, second);
}

/** A two-digit year more than 50 years in the future belongs to the previous century (RFC 9110, 5.6.7). */
function toFullYear(digits: string, thisYear: number): number {
  if (digits.length === 4) return Number(digits);
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}

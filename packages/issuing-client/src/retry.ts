/**
 * Decides after each attempt of a call whether it ends or is retried, when, and what that means for
 * the card.
 */
import type { Outcome } from "./errors.ts";
import type { AttemptResult } from "./response.ts";

const retryPolicy = {
  /** Upper bound of the first delay. It doubles with each retry. */
  initialDelayMs: 300,
  maxDelayMs: 5_000,
  /**
   * After a 409 or 423 the first request with this key may still run. `maxMs` is the limit when no
   * earlier attempt is known.
   */
  conflict: { minDelayMs: 100, maxDelayMs: 1_000, maxMs: 5_000 },
} as const;

/** The statuses that are retried besides every 5xx. */
export const retryableStatuses: readonly number[] = [408, 425, 429];

/** What the caller says of attempts with the same key before this call. */
export type EarlierAttempts =
  /** There were none. */
  | "none"
  /** There were some: a card may exist because of them. */
  | "may-have-issued"
  /** There were some, which the outbox judges itself: it asks what this call means. */
  | "judged-by-caller";

/** What a decision depends on, besides the result of the last attempt. */
export interface CallState {
  /** Whether sending the request twice has the effect of sending it once. */
  readonly isIdempotent: boolean;
  readonly hasKey: boolean;
  readonly earlier: EarlierAttempts;
  readonly maxRetries: number;
  /** The deadline, on the monotonic clock. */
  readonly endsAtMs: number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** How many requests were sent. */
  readonly attempts: number;
  /** How many of them count for `maxRetries`: conflicts have a time limit instead. */
  readonly countedAttempts: number;
  /** Undefined before the first conflict. */
  readonly firstConflictAtMs?: number;
  /** What the attempts mean for the card. */
  readonly outcome: Outcome;
}

/** The state before the first attempt. */
export function createState(
  {
    method,
    idempotencyKey,
    earlier = "none",
  }: { method: string; idempotencyKey?: string | undefined; earlier?: EarlierAttempts },
  { maxRetries, endsAtMs, random }: Pick<CallState, "maxRetries" | "endsAtMs" | "random">,
): CallState {
  return {
    isIdempotent: isIdempotent(method, idempotencyKey),
    hasKey: idempotencyKey !== undefined,
    earlier,
    maxRetries,
    endsAtMs,
    random,
    attempts: 0,
    countedAttempts: 0,
    outcome: earlier === "may-have-issued" ? "unknown" : "not-sent",
  };
}

/** Why a call ends. */
type EndReason =
  | "success"
  /** Another attempt would end in the same way. */
  | "final"
  /** A second request could have a second effect. */
  | "not-idempotent"
  | "no-retries-left"
  /** The conflict has lasted too long to be that of an earlier request. */
  | "lasting-conflict"
  /** The next attempt would begin after the deadline. */
  | "deadline";

export type Next = { state: CallState } & (
  | { end: EndReason; delayMs?: undefined }
  | { delayMs: number; end?: undefined }
);

/**
 * Decides what follows an attempt that has just ended with `result`.
 * @param nowMs the time on the monotonic clock.
 */
export function decideNext(before: CallState, result: AttemptResult, nowMs: number): Next {
  const state = { ...before, outcome: addOutcome(before.outcome, result) };
  const status = result.value?.status;
  if (status !== undefined && status < 400) return { state, end: "success" };
  if (isConflict(status, state.hasKey)) return decideAfterConflict(state, result, nowMs);
  return decideAfterFailure(
    { ...state, countedAttempts: state.countedAttempts + 1 },
    result,
    nowMs,
  );
}

function decideAfterFailure(state: CallState, result: AttemptResult, nowMs: number): Next {
  if (!isRetryable(result)) return { state, end: "final" };
  if (!state.isIdempotent) return { state, end: "not-idempotent" };
  if (state.countedAttempts > state.maxRetries) return { state, end: "no-retries-left" };
  const ownDelayMs = getJitteredDelayMs(state.attempts, state.random);
  return retryBeforeDeadline(state, lengthen(ownDelayMs, result), nowMs);
}

/** After a 409 or 423 the first request with this key may still run. */
function decideAfterConflict(before: CallState, result: AttemptResult, nowMs: number): Next {
  const { firstConflictAtMs = nowMs } = before;
  const outcome = before.earlier === "none" ? before.outcome : "unknown";
  const state = { ...before, firstConflictAtMs, outcome };
  if (state.maxRetries === 0) return { state, end: "no-retries-left" };
  const { minDelayMs, maxDelayMs, maxMs } = retryPolicy.conflict;
  const ownDelayMs = Math.min(maxDelayMs, getJitteredDelayMs(state.attempts, state.random));
  const delayMs = lengthen(Math.max(minDelayMs, ownDelayMs), result);
  const isLasting = nowMs + delayMs - firstConflictAtMs > maxMs;
  // If no earlier attempt is known, a conflict that lasts is an error of the request.
  if (isLasting && outcome !== "unknown") return { state, end: "lasting-conflict" };
  return retryBeforeDeadline(state, delayMs, nowMs);
}

/** `Retry-After` can only lengthen a delay: with 0 or a past date there would be none. */
const lengthen = (delayMs: number, { value }: AttemptResult): number =>
  Math.max(delayMs, value?.retryAfterMs ?? 0);

function retryBeforeDeadline(state: CallState, delayMs: number, nowMs: number): Next {
  if (nowMs + delayMs >= state.endsAtMs) return { state, end: "deadline" };
  return { state, delayMs };
}

/** Whether a response says that another request with the same key may still run. */
export const isConflict = (status: number | undefined, hasKey: boolean): boolean =>
  hasKey && (status === 409 || status === 423);

/**
 * Whether a response with this status may be temporary ([spec
 * 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)).
 */
export const isRetryableStatus = (status: number): boolean =>
  retryableStatuses.includes(status) || status >= 500;

const isRetryable = (result: AttemptResult): boolean =>
  result.failure === undefined ? isRetryableStatus(result.value.status) : result.failure.retryable;

/** Whether sending a request twice has the effect of sending it once. */
export const isIdempotent = (method: string, idempotencyKey: string | undefined): boolean =>
  idempotencyKey !== undefined || ["GET", "HEAD", "PUT", "DELETE"].includes(method);

const fromMostCertain: readonly Outcome[] = ["not-sent", "rejected", "unknown"];

/** Returns the outcome of a call after one more attempt: the less certain one. */
function addOutcome(outcome: Outcome, result: AttemptResult): Outcome {
  // A 422 is about the body, which the earlier attempts had too.
  if (result.value?.status === 422) return "rejected";
  const next = getOutcome(result);
  return fromMostCertain.indexOf(next) > fromMostCertain.indexOf(outcome) ? next : outcome;
}

/**
 * After a 2xx, a 5xx, a 408 or a lost response the card may exist; after another 4xx it does not.
 */
function getOutcome({ value, failure }: AttemptResult): Outcome {
  if (value === undefined) return failure.wasSent ? "unknown" : "not-sent";
  const { status } = value;
  return status >= 400 && status < 500 && status !== 408 ? "rejected" : "unknown";
}

/**
 * Exponential backoff with full jitter: callers that failed together retry at different times.
 * @param retry 1 for the first retry.
 * @param random returns a number from 0 to 1.
 */
export function getJitteredDelayMs(retry: number, random: () => number): number {
  const { initialDelayMs, maxDelayMs } = retryPolicy;
  return Math.round(random() * Math.min(maxDelayMs, initialDelayMs * 2 ** (retry - 1)));
}

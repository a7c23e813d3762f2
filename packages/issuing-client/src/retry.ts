/** Decides whether and when a request goes out again, with the same key. A function from Send to Send. */
import type { Send } from "./attempt.ts";
import { AttemptFailure } from "./attempt-failure.ts";
import type { Call } from "./call.ts";
import { pause } from "./clock.ts";
import type { Outcome } from "./errors.ts";
import { retryAfterMs } from "./retry-after.ts";
import type { RetryBudget } from "./retry-budget.ts";
import { isRepeatable, isRetryableStatus, ownPauseMs } from "./retry-policy.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/**
 * Repeats what may be repeated, until there is an answer that repeating cannot improve, or no retry or time is left.
 * @param budget what all calls of the client may repeat together.
 * @param random from 0 to 1.
 * @returns a Send that throws {@link IssuingError} when the last attempt brought no answer, and the caller's reason when it aborted.
 */
export function retrying(send: Send<Result>, budget: RetryBudget, random: () => number): Send<WholeAnswer> {
  return async (call, url, request) => {
    const { clock, signal } = call;
    const repeatable = isRepeatable(request.method, request.headers);
    for (;;) {
      signal?.throwIfAborted();
      const attempt = call.beginAttempt(request.method);
      const result = await send(call, url, request);
      call.noteOutcome(outcomeOf(result));
      if (!isWorthRepeating(result)) {
        budget.giveBack();
        return given(call, result);
      }
      const pauseMs = requestedPauseMs(result, clock.now()) ?? ownPauseMs(attempt, random);
      const mayRepeat = repeatable && attempt <= call.maxRetries && pauseMs < call.remainingMs();
      if (!mayRepeat || !budget.take()) return given(call, result);

      const reason = result instanceof AttemptFailure ? result.code : result.status;
      call.tell(() => ({ type: "retry", attempt, reason, pauseMs }));
      await pause({ clock, ms: pauseMs, signal });
      if (call.isOver()) return given(call, result); // the pause took longer than it should have
    }
  };
}

type Result = WholeAnswer | AttemptFailure;

function isWorthRepeating(result: Result): boolean {
  return result instanceof AttemptFailure ? result.retryable : isRetryableStatus(result.status);
}

/** After a fault of the service or the network the work may have been done; after a refusal it was not. */
function outcomeOf(result: Result): Outcome {
  if (result instanceof AttemptFailure) return result.wasSent ? "unknown" : "not-sent";
  return result.status >= 500 || result.status === 408 ? "unknown" : "rejected";
}

function requestedPauseMs(result: Result, nowMs: number): number | undefined {
  return result instanceof AttemptFailure
    ? undefined
    : retryAfterMs(result.head.header("retry-after"), nowMs);
}

/** The last result: an answer of any status, or the error of the whole call. */
function given(call: Call, result: Result): WholeAnswer {
  if (!(result instanceof AttemptFailure)) return result;
  const { code, retryable, message, cause } = result;
  if (code === "timeout" && call.isOver()) throw call.deadlineError();
  throw call.error(message, { code, retryable, outcome: call.outcome, cause });
}

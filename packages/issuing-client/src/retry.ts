/** Decides whether and when a request goes out again, with the same key. A function from Send to Send. */
import type { Send } from "./attempt.ts";
import { AttemptFailure } from "./attempt-failure.ts";
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
 * @returns a Send that gives the last result, and throws only the caller's own abort and an error about the deadline.
 */
export function retrying(send: Send<Result>, budget: RetryBudget, random: () => number): Send<Result> {
  return async (call, url, request) => {
    const { clock, signal } = call;
    const repeatable = isRepeatable(request.method, request.headers);
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const attempt = call.beginAttempt(request.method);
      const result = await send(call, url, request);
      call.noteOutcome(outcomeOf(result));
      if (!isWorthRepeating(result)) {
        budget.giveBack();
        return result;
      }
      const pauseMs = requestedPauseMs(result, clock.now()) ?? ownPauseMs(attempt, random);
      const mayRepeat = repeatable && attempt <= call.maxRetries && pauseMs < call.remainingMs();
      if (!mayRepeat || !budget.take()) return result;

      const reason = result instanceof AttemptFailure ? result.code : result.status;
      call.tell(() => ({ type: "retry", attempt, reason, pauseMs }));
      await pause(clock, pauseMs, signal);
      if (call.isOver()) return result; // the pause took longer than it should have
    }
  };
}

/** What an attempt came to: an answer of any status, or why there was none. */
export type Result = WholeAnswer | AttemptFailure;

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

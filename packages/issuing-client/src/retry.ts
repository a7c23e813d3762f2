/** Decides whether and when a request goes out again, with the same key. A function from Send to Send. */
import type { Send } from "./attempt.ts";
import { AttemptFailure } from "./attempt-failure.ts";
import type { Call } from "./call.ts";
import type { RetryReason } from "./client-event.ts";
import { pause } from "./clock.ts";
import { retryAfterMs } from "./retry-after.ts";
import { isRepeatable, isRetryableStatus, ownPauseMs } from "./retry-policy.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/**
 * Repeats what may be repeated, until there is an answer that repeating cannot improve, or no retry or time is left.
 * @throws {IssuingError} when the last attempt brought no answer, and the caller's reason when it aborted.
 */
export function retrying(send: Send, call: Call): Send {
  return async (url, request) => {
    const repeatable = isRepeatable(request.method, request.headers);
    if (call.isOver()) throw call.deadlineError();
    for (;;) {
      call.signal?.throwIfAborted();
      const attempt = call.beginAttempt();
      const result = await attempted(send, url, request);
      noteWhatMayHaveHappened(call, result);
      if (!isWorthRepeating(result)) {
        call.budget.giveBack();
        return given(call, result);
      }
      const pauseMs = requestedPauseMs(call, result) ?? ownPauseMs(attempt, call.random);
      const mayRepeat = repeatable && attempt <= call.maxRetries && pauseMs < call.remainingMs();
      if (!mayRepeat || !call.budget.take()) return given(call, result);

      call.tell({ type: "retry", operation: call.operation, attempt, reason: reasonOf(result), pauseMs });
      await pause({ clock: call.clock, ms: pauseMs, signal: call.signal });
      if (call.isOver()) return given(call, result); // the pause took longer than it should have
    }
  };
}

type Result = WholeAnswer | AttemptFailure;

async function attempted(send: Send, ...request: Parameters<Send>): Promise<Result> {
  try {
    return await send(...request);
  } catch (error) {
    if (error instanceof AttemptFailure) return error;
    throw error;
  }
}

function isWorthRepeating(result: Result): boolean {
  return result instanceof AttemptFailure ? result.retryable : isRetryableStatus(result.status);
}

/** After a fault of the service or the network the work may have been done; after a refusal it was not. */
function noteWhatMayHaveHappened(call: Call, result: Result): void {
  const mayHave =
    result instanceof AttemptFailure ? result.wasSent : result.status >= 500 || result.status === 408;
  if (mayHave) call.noteMayHaveHappened();
}

function requestedPauseMs(call: Call, result: Result): number | undefined {
  return result instanceof AttemptFailure ? undefined : retryAfterMs(result.headers, call.clock.now());
}

const reasonOf = (result: Result): RetryReason =>
  result instanceof AttemptFailure ? result.code : result.status;

/** The last result: an answer of any status, or the error of the whole call. */
function given(call: Call, result: Result): WholeAnswer {
  if (!(result instanceof AttemptFailure)) return result;
  const { code, retryable, message, cause } = result;
  if (code === "timeout" && call.isOver()) throw call.deadlineError();
  throw call.error(message, { code, retryable, outcome: call.outcome("not-sent"), cause });
}

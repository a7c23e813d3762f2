/** Decides whether and when a request goes out again, with the same key. A function from fetch to fetch. */
import { AttemptFailure, type Fetch } from "./attempt.ts";
import type { Call } from "./call.ts";
import type { RetryReason } from "./client-event.ts";
import { pause } from "./clock.ts";
import { retryAfterMs } from "./retry-after.ts";
import { isRepeatable, isRetryableStatus, ownPauseMs } from "./retry-policy.ts";

/**
 * Repeats what may be repeated, until there is an answer that repeating cannot improve, or no retry or time is left.
 * @throws {IssuingError} when the last attempt brought no answer, and the caller's reason when it aborted.
 */
export function retrying(fetch: Fetch, call: Call): Fetch {
  return async (input, init = {}) => {
    const repeatable = isRepeatable(init.method ?? "GET", new Headers(init.headers));
    for (;;) {
      const attempt = call.countAttempt();
      const result = await attempted(fetch, input, init);
      noteWhatMayHaveHappened(call, result);

      if (!isWorthRepeating(result)) call.budget.giveBack();

      const retriesLeft = repeatable ? call.maxRetries - attempt + 1 : 0;
      if (retriesLeft <= 0 || !isWorthRepeating(result)) return given(call, result);
      const pauseMs = requestedPauseMs(call, result) ?? ownPauseMs(attempt, call.random);
      if (pauseMs >= call.remainingMs() || !call.budget.take()) return given(call, result);

      call.tell({ type: "retry", operation: call.operation, attempt, reason: reasonOf(result), pauseMs });
      await pause(call.clock, pauseMs, call.signal);
    }
  };
}

type Result = Response | AttemptFailure;

async function attempted(fetch: Fetch, ...request: Parameters<Fetch>): Promise<Result> {
  try {
    return await fetch(...request);
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

/** The last result, as fetch gives it: an answer of any status, or an error. */
function given(call: Call, result: Result): Response {
  if (!(result instanceof AttemptFailure)) return result;
  const isOver = result.code === "timeout" && call.remainingMs() <= 0;
  throw call.error(isOver ? "The call did not succeed before its deadline." : result.message, {
    code: isOver ? "deadline" : result.code,
    retryable: result.retryable,
    outcome: call.outcome("not-sent"),
    cause: result.cause,
  });
}

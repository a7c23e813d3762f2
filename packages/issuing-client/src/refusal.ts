/** Makes the caller's error of an answer that is no success. */
import type { Call } from "./call.ts";
import { type IssuingErrorCode, type Outcome, ProblemError } from "./errors.ts";
import { readProblem } from "./problem.ts";
import { requestIdOf } from "./request-id.ts";
import { retryAfterMs } from "./retry-after.ts";
import { isRetryableStatus } from "./retry-policy.ts";
import type { WholeAnswer } from "./whole-answer.ts";

const codes: Readonly<Record<number, IssuingErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  422: "validation",
  429: "rate-limited",
};

/** What the code alone lets us say; the service's own words may quote a customer, and stay in `problem`. */
const hints: Partial<Record<IssuingErrorCode, string>> = {
  unauthorized: "is the apiKey right?",
  forbidden: "may this apiKey do that?",
  "not-found": "is the id right, and baseUrl the service's?",
  validation: "userMessage says what to correct.",
};

/** Long enough for a sentence per field, too short for an error page that calls itself a detail. */
const longestUserMessage = 1_000;

export function refusal(call: Call, answer: WholeAnswer): ProblemError {
  const { status, head, text } = answer;
  const problem = readProblem(status, text);
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  const hint = hints[code];
  return new ProblemError(
    `The service answered ${status} to ${call.operation}${hint === undefined ? "." : `: ${hint}`}`,
    {
      code,
      status,
      problem,
      retryable: isRetryableStatus(status),
      outcome: outcomeOf(call, status),
      attempts: call.attempts,
      idempotencyKey: call.idempotencyKey,
      requestId: requestIdOf(head),
      retryAfterMs: retryAfterMs(head.header("retry-after"), call.clock.now()),
      userMessage: status === 422 ? showable(problem.detail) : undefined, // spec 7
    },
  );
}

/** A 422 is about what the request says: an earlier attempt with the same body cannot have fared better. */
function outcomeOf(call: Call, status: number): Outcome {
  return status === 422 ? "rejected" : call.outcome;
}

function showable(detail: string | undefined): string | undefined {
  return detail !== undefined && detail.trim() !== "" && detail.length <= longestUserMessage
    ? detail
    : undefined;
}

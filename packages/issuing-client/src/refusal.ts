/** Makes the caller's error of an answer that is no success. */
import type { Call } from "./call.ts";
import { type IssuingErrorCode, type Outcome, ProblemError } from "./errors.ts";
import { readProblem } from "./problem.ts";
import { requestIdOf } from "./request-id.ts";
import { retryAfterMs } from "./retry-after.ts";
import { isRetryableStatus } from "./retry-policy.ts";

const codes: Readonly<Record<number, IssuingErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  422: "validation",
  429: "rate-limited",
};

/** Refused for what the request says: an earlier attempt with the same body cannot have fared better. */
const judgedByTheRequest: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Long enough for a sentence per field, too short for an error page that calls itself a detail. */
const longestUserMessage = 1_000;

/** @param body what the service sent, parsed when it is JSON, else its text. */
export function refusal(call: Call, response: Response, body: unknown): ProblemError {
  const { status, headers } = response;
  const problem = readProblem(status, body);
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  return new ProblemError(`The service answered ${status}${problem.title ? ` ${problem.title}` : ""}.`, {
    code,
    status,
    problem,
    retryable: isRetryableStatus(status),
    outcome: outcomeOf(call, status),
    attempts: call.attempts,
    idempotencyKey: call.idempotencyKey,
    requestId: requestIdOf(headers),
    retryAfterMs: retryAfterMs(headers, call.clock.now()),
    userMessage: status === 422 ? showable(problem.detail) : undefined, // spec 7
  });
}

function outcomeOf(call: Call, status: number): Outcome {
  return judgedByTheRequest.has(status) ? "rejected" : call.outcome("rejected");
}

function showable(detail: string | undefined): string | undefined {
  return detail !== undefined && detail.trim() !== "" && detail.length <= longestUserMessage
    ? detail
    : undefined;
}

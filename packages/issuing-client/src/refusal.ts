/** Makes the caller's error of an answer that is no success. */
import type { Call } from "./call.ts";
import { type IssuingErrorCode, type Outcome, ProblemError } from "./errors.ts";
import { nameFields, type RejectedField, readRejectedFields, toShowable } from "./fields.ts";
import { readProblem } from "./problem.ts";
import type { OperationRequest } from "./request.ts";
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

/** What to look at; the service's own words may quote a customer, and stay in `problem`. */
const hints: Partial<Record<IssuingErrorCode, string>> = {
  unauthorized:
    "the apiKey was not accepted. Is it mistyped or revoked, or does it belong to another service than the one at baseUrl?",
  forbidden: "may this apiKey do that?",
};

/** @param request what the call asked for: the id of a 404 and the fields of a 422 are in the message. */
export function refusal(call: Call, answer: WholeAnswer, request: OperationRequest): ProblemError {
  const { status, head, text } = answer;
  const problem = readProblem(status, text);
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  const fields = status === 422 ? readRejectedFields(problem) : [];
  const hint = hintFor(code, request, fields);
  return new ProblemError(
    `The service responded ${status} to ${call.operation}${hint === undefined ? "." : `: ${hint}`}`,
    {
      code,
      status,
      problem,
      fields,
      retryable: isRetryableStatus(status),
      outcome: outcomeOf(call, status),
      attempts: call.attempts,
      idempotencyKey: call.idempotencyKey,
      requestId: requestIdOf(head),
      retryAfterMs: retryAfterMs(head.header("retry-after"), call.clock.now()),
      userMessage: status === 422 ? toShowable(problem.detail) : undefined, // spec 7
    },
  );
}

function hintFor(
  code: IssuingErrorCode,
  { operation, id, body = "" }: OperationRequest,
  fields: readonly RejectedField[],
): string | undefined {
  if (code === "not-found") {
    const quoted = JSON.stringify(id.slice(0, longestId));
    const missing =
      operation === "issueCard"
        ? `template ${quoted} does not exist or is archived`
        : `card ${quoted} does not exist`;
    return `${missing}. Are the id and baseUrl correct?`;
  }
  if (code !== "validation") return hints[code];
  const named = nameFields(fields, body);
  return named === "" ? "userMessage says what to correct." : `${named}. userMessage says what to correct.`;
}

/** Identifiers are shorter: a longer text is something else, pasted by mistake. */
const longestId = 100;

/** A 422 is about what the request says: an earlier attempt with the same body cannot have fared better. */
function outcomeOf(call: Call, status: number): Outcome {
  return status === 422 ? "rejected" : call.outcome;
}

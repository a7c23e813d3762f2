/** Creates the error of a 4xx or 5xx response, from its problem details (RFC 9457). */
import { type HttpResponse, parseJson } from "./attempt.ts";
import type { Call } from "./call.ts";
import { isObject } from "./cards.ts";
import { type IssuingErrorCode, type ProblemDetails, ProblemError, type RejectedField } from "./errors.ts";
import { formatFields, readRejectedFields, toShowable } from "./rejected-fields.ts";
import type { OperationRequest } from "./request.ts";
import { isRetryableStatus, mayStillRun, parseRetryAfter } from "./retry.ts";

const codes: Readonly<Record<number, IssuingErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  422: "validation",
  423: "conflict",
  429: "rate-limited",
};

/**
 * The longest `retryAfterMs` of an error: after 24 hours the service has deleted the idempotency key
 * ([spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
const maxRetryAfterMs = 24 * 3_600_000;

/**
 * Its message contains no text of the service, because that text can quote a customer.
 * @param baseUrl the address of the service.
 */
export function createProblemError(
  call: Call,
  { status, head, text }: HttpResponse,
  request: OperationRequest,
  baseUrl: string,
): ProblemError {
  const problem = parseProblem(status, text);
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  const fields = status === 422 ? readRejectedFields(problem) : [];
  const detail = status === 422 ? toShowable(problem.detail) : undefined;
  const hint = formatHint(code, request, baseUrl, fields, detail);
  const isUnknown = mayStillRun(call, status);
  const retryAfterMs = parseRetryAfter(head.header("retry-after"), call.clock.now());
  return new ProblemError(
    `The service responded ${status} to ${call.operation}${hint === undefined ? "." : `: ${hint}`}`,
    {
      code,
      status,
      problem,
      fields,
      retryable: isUnknown || isRetryableStatus(status),
      // A 422 is about the request, so an earlier attempt with the same body cannot have succeeded.
      outcome: isUnknown ? "unknown" : status === 422 ? "rejected" : call.outcome,
      attempts: call.attempts,
      idempotencyKey: call.idempotencyKey,
      requestId: getRequestId(head),
      retryAfterMs: retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, maxRetryAfterMs),
      userMessage: detail, // spec 7
    },
  );
}

/** The specification does not name the header of the request's identifier; these two are common. Text that does not look like an identifier is dropped. */
export function getRequestId(head: HttpResponse["head"]): string | undefined {
  const id = head.header("x-request-id") ?? head.header("request-id");
  return id !== null && /^[\w.:/+=@-]{1,128}$/.test(id) ? id : undefined;
}

/** @returns problem details for any body: an error page or an empty body has only `type` and `status`. */
function parseProblem(status: number, text: string): ProblemDetails {
  const body = parseJson(text);
  const members: Record<string, unknown> = isObject(body) ? { ...body } : {};
  for (const name of ["title", "detail"]) {
    if (typeof members[name] !== "string") delete members[name];
  }
  return { ...members, type: typeof members["type"] === "string" ? members["type"] : "about:blank", status };
}

/** A longer id is other text that was pasted by mistake. */
const maxIdLength = 100;

function formatHint(
  code: IssuingErrorCode,
  { operation, id, body = "" }: OperationRequest,
  baseUrl: string,
  fields: readonly RejectedField[],
  detail: string | undefined,
): string | undefined {
  if (code === "unauthorized") {
    return `the apiKey was not accepted, because it is mistyped, revoked or of another service. Copy the Website key from the console of the service at ${baseUrl}.`;
  }
  if (code === "forbidden") return "this apiKey is not allowed to do that.";
  if (code === "not-found") {
    const quoted = JSON.stringify(id.slice(0, maxIdLength));
    return operation === "issueCard"
      ? `template ${quoted} does not exist or is archived. Copy the id of a template from the console of the service at ${baseUrl}.`
      : `card ${quoted} does not exist. Is it a card of the service at ${baseUrl}?`;
  }
  if (code !== "validation") return undefined;
  const pointers = formatFields(fields, body);
  if (detail === undefined)
    return pointers === "" ? "the response has no detail that says what to correct." : `${pointers}.`;
  return pointers === ""
    ? "userMessage says what to correct."
    : `${pointers}. userMessage says what to correct.`;
}

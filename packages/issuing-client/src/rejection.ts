/** The error of a 4xx or 5xx response, from its problem details (RFC 9457, spec 7): code, rejected fields, and a message without personal data. */
import type { Call } from "./call.ts";
import { isObject } from "./cards.ts";
import {
  IssuingError,
  type IssuingErrorCode,
  type IssuingErrorFacts,
  type ProblemDetails,
  type RejectedField,
} from "./errors.ts";
import { getRequestId, type UsableResponse } from "./response.ts";
import { getRetryAfterMs, isRetryable, mayStillRun } from "./retry.ts";

const codes: Readonly<Record<number, IssuingErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  422: "validation",
  423: "conflict",
  429: "rate-limited",
};

/** Creates the error of a call that ended with a 4xx or 5xx. Its message contains no text of the service, which can quote a customer. */
export function toRejection(
  response: UsableResponse,
  call: Call,
  facts: Pick<IssuingErrorFacts, "attempts" | "outcome" | "idempotencyKey">,
  { baseUrl, nowMs }: { baseUrl: string; nowMs: number },
): IssuingError {
  const { status, body } = response;
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  const problem = readProblem(status, body);
  const fields = status === 422 ? readRejectedFields(problem) : [];
  const userMessage = status === 422 ? toShowable(problem.detail) : undefined; // spec 7
  const hint = formatHint(code, call, baseUrl) ?? (status === 422 && formatFields(fields, call, userMessage));
  const retryAfterMs = getRetryAfterMs(response, nowMs);
  return new IssuingError(`The service responded ${status} to ${call.operation}${hint ? `: ${hint}` : "."}`, {
    ...facts,
    code,
    status,
    problem,
    fields,
    userMessage,
    requestId: getRequestId(response),
    // After 24 hours the service has deleted the idempotency key (spec 8).
    retryAfterMs: retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, 24 * 3_600_000),
    retryable:
      isRetryable(response) || (facts.outcome === "unknown" && mayStillRun(response, facts.idempotencyKey)),
    // A 422 is about the request, so an earlier attempt with the same body cannot have succeeded.
    outcome: status === 422 ? "rejected" : facts.outcome,
  });
}

/** @returns problem details for any body: an error page or an empty body has only `type` and `status`. */
function readProblem(status: number, body: unknown): ProblemDetails {
  const members = isObject(body) ? { ...body } : {};
  for (const name of ["title", "detail"]) if (typeof members[name] !== "string") delete members[name];
  return { ...members, type: typeof members["type"] === "string" ? members["type"] : "about:blank", status };
}

function formatHint(
  code: IssuingErrorCode,
  { operation, id = "" }: Call,
  baseUrl: string,
): string | undefined {
  if (code === "unauthorized")
    return `the apiKey was not accepted, because it is mistyped, revoked or of another service. Copy the Website key from the service's console at ${baseUrl}.`;
  if (code === "forbidden") return "this apiKey is not allowed to do that.";
  if (code !== "not-found") return undefined;
  const quoted = JSON.stringify(id.slice(0, 100)); // a longer id is other text that was pasted by mistake
  return operation === "issueCard"
    ? `template ${quoted} does not exist or is archived. Copy the id of a template from the service's console at ${baseUrl}.`
    : `card ${quoted} does not exist. Is it a card of the service at ${baseUrl}?`;
}

/** @returns text of the service that can be shown; undefined when it is blank, not text, or too long for a sentence. */
const toShowable = (text: unknown): string | undefined =>
  typeof text === "string" && text.trim() !== "" && text.length <= 1_000 ? text : undefined;

/** Reads the `errors` member of problem details, at most 50. Entries without a valid pointer are dropped. */
function readRejectedFields({ errors }: ProblemDetails): RejectedField[] {
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, 50).flatMap((entry) => {
    const pointer = parsePointer(entry?.pointer);
    const detail = toShowable(entry?.detail);
    if (pointer === undefined) return [];
    return [detail === undefined ? { pointer } : { pointer, detail }];
  });
}

/** @returns undefined for a value that is not a pointer. It can be a URI fragment, `#/customer/phone` (RFC 6901, section 6). */
function parsePointer(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  try {
    const pointer = value.startsWith("#") ? decodeURIComponent(value.slice(1)) : value;
    return pointer === "" || pointer.startsWith("/") ? pointer : undefined;
  } catch {
    return undefined;
  }
}

/** Pointers that a message may contain: members of the contract, and field keys that look like names. Others can be personal data. */
const printable =
  /^\/(?:marketing|version|customer(?:\/(?:phone|email|name|consents(?:\/(?:privacy|marketing)(?:\/version)?)?))?|fieldValues(?:\/(?<key>[\p{L}_][\p{L}\p{N}_.-]{0,63}))?)$/u;

/** Formats the hint of a 422, with at most 10 fields. A field key that equals a value in the request is left out, because it can be personal data. */
function formatFields(
  fields: readonly RejectedField[],
  { body = "" }: Call,
  detail: string | undefined,
): string {
  const pointers = fields
    .map(({ pointer }) => pointer)
    .filter((pointer) => {
      const match = printable.exec(pointer);
      const key = match?.groups?.["key"];
      return match !== null && !(key !== undefined && body.includes(`:${JSON.stringify(key)}`));
    });
  const named = [...new Set(pointers)].slice(0, 10).join(", ");
  if (detail !== undefined) return `${named === "" ? "" : `${named}. `}userMessage says what to correct.`;
  return named === "" ? "the response has no detail that says what to correct." : `${named}.`;
}

/** The error of a 4xx or 5xx response, from its problem details (RFC 9457, spec 7): code, rejected fields, and a message without personal data. */
import { isObject } from "./cards.ts";
import {
  IssuingError,
  type IssuingErrorCode,
  type IssuingErrorFacts,
  type ProblemDetails,
  type RejectedField,
} from "./errors.ts";
import type { OperationName } from "./events.ts";
import type { ReceivedResponse } from "./response.ts";
import { getRetryAfterMs, isConflict, isRetryable } from "./retry.ts";

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

/** What the error says of the request. */
export interface RejectedRequest {
  operation: OperationName;
  /** The id in the path. */
  id?: string;
  /** JSON. */
  body?: string | undefined;
  /** Whether the caller knows of an attempt with the same key before this call. */
  hasEarlierAttempt?: boolean;
}

/**
 * Creates the error of a call that ended with a 4xx or 5xx. Its message contains no text of the service, because that text can quote a
 * customer.
 */
export function toRejection(
  response: ReceivedResponse,
  request: RejectedRequest,
  { attempts, outcome, idempotencyKey }: Pick<IssuingErrorFacts, "attempts" | "outcome" | "idempotencyKey">,
  { baseUrl, nowMs }: { baseUrl: string; nowMs: number },
): IssuingError {
  const { status, body, requestId } = response;
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  const problem = readProblem(status, body);
  const fields = status === 422 ? readRejectedFields(problem) : [];
  const detail = status === 422 ? toShowable(problem.detail) : undefined; // spec 7
  const hint = formatHint(code, { ...request, baseUrl }, fields, detail);
  const isKnown = request.hasEarlierAttempt === true || outcome === "unknown";
  const mayStillRun = isConflict(response) && idempotencyKey !== undefined && isKnown;
  const retryAfterMs = getRetryAfterMs(response, nowMs);
  return new IssuingError(
    `The service responded ${status} to ${request.operation}${hint === undefined ? "." : `: ${hint}`}`,
    {
      code,
      status,
      problem,
      fields,
      retryable: mayStillRun || isRetryable(response),
      // A 422 is about the request, so an earlier attempt with the same body cannot have succeeded.
      outcome: mayStillRun ? "unknown" : status === 422 ? "rejected" : outcome,
      attempts,
      idempotencyKey,
      requestId,
      retryAfterMs: retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, maxRetryAfterMs),
      userMessage: detail,
    },
  );
}

/** @returns problem details for any body: an error page or an empty body has only `type` and `status`. */
function readProblem(status: number, body: unknown): ProblemDetails {
  const members = isObject(body) ? { ...body } : {};
  for (const name of ["title", "detail"]) if (typeof members[name] !== "string") delete members[name];
  return { ...members, type: typeof members["type"] === "string" ? members["type"] : "about:blank", status };
}

/** A longer id is other text that was pasted by mistake. */
const maxIdLength = 100;

function formatHint(
  code: IssuingErrorCode,
  { operation, baseUrl, id = "", body = "" }: RejectedRequest & { baseUrl: string },
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
  return `${pointers === "" ? "" : `${pointers}. `}userMessage says what to correct.`;
}

/** No form has more fields. */
const maxFields = 50;
const maxPointerLength = 300;
/** Long enough for a sentence, and too short for an error page. */
const maxTextLength = 1_000;
/** The maximum number of fields in a message. */
const maxPointers = 10;

/** @returns text of the service that can be shown; undefined when it is blank, too long or not text. */
const toShowable = (text: unknown): string | undefined =>
  typeof text === "string" && text.trim() !== "" && text.length <= maxTextLength ? text : undefined;

/** Reads the `errors` member of problem details. Entries without a valid pointer are dropped. */
function readRejectedFields({ errors }: ProblemDetails): RejectedField[] {
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, maxFields).flatMap((entry) => {
    const pointer = parsePointer(entry?.pointer);
    const detail = toShowable(entry?.detail);
    if (pointer === undefined) return [];
    return [detail === undefined ? { pointer } : { pointer, detail }];
  });
}

/** @returns undefined for a value that is not a pointer. It can be a URI fragment, `#/customer/phone` (RFC 6901, section 6). */
function parsePointer(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > maxPointerLength) return undefined;
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

/**
 * Formats the pointers for a message, separated by commas; `""` when there are none.
 * @param sent the JSON of the request. A field key that equals a value in it is left out.
 */
function formatFields(fields: readonly RejectedField[], sent: string): string {
  const pointers = new Set<string>();
  for (const { pointer } of fields) {
    const match = printable.exec(pointer);
    const key = match?.groups?.["key"];
    const isValue = key !== undefined && sent.includes(`:${JSON.stringify(key)}`);
    if (match !== null && !isValue && pointers.size < maxPointers) pointers.add(pointer);
  }
  return [...pointers].join(", ");
}

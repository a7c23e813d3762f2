/**
 * The errors of a call: that of a 4xx or 5xx, from its problem details (RFC 9457, spec 7), and that
 * of a call without a usable response.
 */
import { keyRetentionMs } from "@loyalty-cards/internal/key-retention";
import type { Call } from "./call.ts";
import {
  IssuingError,
  type IssuingErrorCode,
  type IssuingErrorFacts,
  type ProblemDetails,
  type RejectedField,
} from "./errors.ts";
import { printableKey } from "./request.ts";
import { getRequestId, isObject, type UsableResponse } from "./response.ts";
import { isConflict, isRetryableStatus } from "./retry.ts";
import type { AttemptFailure } from "./transport.ts";

/** What the attempts of a call add to its error. */
export type CallFacts = Pick<IssuingErrorFacts, "attempts" | "outcome" | "idempotencyKey">;

/** Creates the error of a call that ends without a usable response. */
export function toFailureError(
  failure: AttemptFailure,
  facts: CallFacts & Pick<IssuingErrorFacts, "requestId">,
): IssuingError {
  const { code, message, retryable, status, networkCode, cardId } = failure;
  const cause = networkCode && Object.assign(new Error(networkCode), { code: networkCode });
  return new IssuingError(message, { ...facts, code, retryable, status, cardId, cause });
}

const codes: Readonly<Record<number, IssuingErrorCode>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  422: "validation",
  423: "conflict",
  429: "rate-limited",
};

/** After this time the service has deleted the idempotency key. */
const maxRetryAfterMs = keyRetentionMs;

/**
 * Creates the error of a call that ended with a 4xx or 5xx. Its message contains no text of the
 * service, which can quote a customer.
 */
export function toResponseError(
  response: UsableResponse,
  call: Call,
  { facts, baseUrl }: { facts: CallFacts; baseUrl: string },
): IssuingError {
  const { status, json, retryAfterMs } = response;
  const code = codes[status] ?? (status >= 500 ? "server" : "rejected");
  const problem = readProblem(status, json);
  const isValidation = code === "validation";
  const fields = isValidation ? readRejectedFields(problem) : [];
  const userMessage = isValidation ? toShowable(problem.detail) : undefined; // spec 7
  const hint = isValidation
    ? formatFields(fields, call, userMessage)
    : formatHint(code, call, { baseUrl, isOfService: hasDetails(problem) });
  const end = hint === undefined ? "." : `: ${hint}`;
  const hasKey = facts.idempotencyKey !== undefined;
  const mayStillRun = facts.outcome === "unknown" && isConflict(status, hasKey);
  return new IssuingError(`The service responded ${status} to ${call.operation}${end}`, {
    ...facts,
    code,
    status,
    problem,
    fields,
    userMessage,
    requestId: getRequestId(response),
    retryAfterMs: retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, maxRetryAfterMs),
    retryable: isRetryableStatus(status) || mayStillRun,
  });
}

/**
 * @returns problem details for any body: an error page or an empty body has only `type` and
 * `status`.
 */
function readProblem(status: number, body: unknown): ProblemDetails {
  const members = isObject(body) ? { ...body } : {};
  for (const name of ["title", "detail"])
    if (typeof members[name] !== "string") delete members[name];
  return {
    ...members,
    type: typeof members["type"] === "string" ? members["type"] : "about:blank",
    status,
  };
}

/** Whether there is a title or a detail. An error page of another server has neither (spec 7). */
const hasDetails = ({ title, detail }: ProblemDetails): boolean =>
  title !== undefined || detail !== undefined;

/** What to correct, after a colon. */
function formatHint(
  code: IssuingErrorCode,
  call: Call,
  { baseUrl, isOfService }: { baseUrl: string; isOfService: boolean },
): string | undefined {
  if (code === "unauthorized")
    return `the apiKey (LOYALTY_API_KEY) was not accepted, because it is mistyped, revoked or of another service. Copy the Website key from the service's console at ${baseUrl}.`;
  if (code === "forbidden") return "this apiKey (LOYALTY_API_KEY) is not allowed to do that.";
  if (code !== "not-found") return undefined;
  const { pathname } = new URL(baseUrl);
  const missing = describeUnknownId(call, baseUrl);
  if (pathname !== "/")
    return `baseUrl (LOYALTY_URL) has the path ${pathname}, which must be one of the service, not of its console. Or ${missing}`;
  return isOfService ? missing : `is baseUrl (LOYALTY_URL) correct? Or ${missing}`;
}

function describeUnknownId({ operation, id = "" }: Call, baseUrl: string): string {
  const quoted = JSON.stringify(id.slice(0, 100)); // a longer id is text that was pasted by mistake
  return operation === "issueCard"
    ? `template ${quoted} does not exist or is archived. Copy the id of a template from the service's console at ${baseUrl}.`
    : `card ${quoted} does not exist. Is it a card of the service at ${baseUrl}?`;
}

/**
 * @returns text of the service that can be shown; undefined when it is blank, not text, or too long
 * for a sentence.
 */
const toShowable = (text: unknown): string | undefined =>
  typeof text === "string" && text.trim() !== "" && text.length <= 1_000 ? text : undefined;

/**
 * Reads the `errors` member of problem details, at most 50. Entries without a valid pointer are
 * dropped.
 */
function readRejectedFields({ errors }: ProblemDetails): RejectedField[] {
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, 50).flatMap((entry) => {
    const pointer = parsePointer(entry?.pointer);
    const detail = toShowable(entry?.detail);
    if (pointer === undefined) return [];
    return [detail === undefined ? { pointer } : { pointer, detail }];
  });
}

/**
 * @returns undefined for a value that is not a pointer. It can be a URI fragment,
 * `#/customer/phone` (RFC 6901, section 6).
 */
function parsePointer(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  try {
    const pointer = value.startsWith("#") ? decodeURIComponent(value.slice(1)) : value;
    return pointer === "" || pointer.startsWith("/") ? pointer : undefined;
  } catch {
    return undefined;
  }
}

/** The members of the contract, which a message may contain. */
const contractPointers: ReadonlySet<string> = new Set([
  "/customer",
  "/customer/consents",
  "/customer/consents/marketing",
  "/customer/consents/marketing/version",
  "/customer/consents/privacy",
  "/customer/consents/privacy/version",
  "/customer/email",
  "/customer/name",
  "/customer/phone",
  "/fieldValues",
  "/marketing",
  "/version",
]);

/** A field key that equals a value in the request is left out: it can be personal data. */
function isPrintable(pointer: string, body: string): boolean {
  if (contractPointers.has(pointer)) return true;
  const [, key = ""] = /^\/fieldValues\/(.*)$/s.exec(pointer) ?? [];
  return printableKey.test(key) && !body.includes(`:${JSON.stringify(key)}`);
}

/** The hint of a 422, with at most 10 fields. */
function formatFields(
  fields: readonly RejectedField[],
  { body = "" }: Call,
  detail: string | undefined,
): string {
  const pointers = fields.map(({ pointer }) => pointer).filter((each) => isPrintable(each, body));
  const names = [...new Set(pointers)].slice(0, 10).join(", ");
  if (names !== "") return `${names}.`;
  return detail === undefined
    ? "the response has no detail that says what to correct."
    : "the detail of the response says what to correct.";
}

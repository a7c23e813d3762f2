/** Errors: what happened, whether a card may exist, and what to do next. */
import { formatErrorLink } from "@loyalty-cards/internal/format";
import { issuingErrorBrand as brand, generalUserMessage } from "@loyalty-cards/internal/issuing-steps";

/** Problem details (RFC 9457). Members that this version does not know are kept. */
export interface ProblemDetails {
  type: string;
  status: number;
  title?: string;
  detail?: string;
  [member: string]: unknown;
}

/** A member of the request that is missing or invalid. */
export interface RejectedField {
  /** JSON Pointer (RFC 6901) into the request body: `/customer/phone`, `/fieldValues/name`. */
  pointer: string;
  /** What is wrong, in the words of the service. It can quote what the user typed: show it to them, and do not log it. */
  detail?: string;
}

/** `validation` is 422, `conflict` 409 or 423, `rejected` a 4xx without its own code, `server` 5xx, `configuration` an invalid option or argument. */
export type IssuingErrorCode =
  | "validation"
  | "not-found"
  | "unauthorized"
  | "forbidden"
  | "conflict"
  | "rate-limited"
  | "rejected"
  | "server"
  | "network"
  | "timeout"
  | "deadline"
  | "invalid-response"
  | "idempotency-expired"
  | "configuration";

/** The effect of the whole call at the service. */
export type Outcome = "not-sent" | "rejected" | "unknown";

export interface IssuingErrorFacts {
  code: IssuingErrorCode;
  outcome: Outcome;
  retryable?: boolean;
  attempts?: number | undefined;
  idempotencyKey?: string | undefined;
  /** Default: a general sentence. */
  userMessage?: string | undefined;
  fields?: readonly RejectedField[] | undefined;
  status?: number | undefined;
  problem?: ProblemDetails | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cardId?: string | undefined;
  cause?: unknown;
}

/** Every error of the client, except the caller's own abort. The message ends with the address of the page that describes its `code`. */
export class IssuingError extends Error {
  override readonly name = "IssuingError";
  readonly code: IssuingErrorCode;
  /** Whether the same call, with the same idempotency key, may succeed later. */
  readonly retryable: boolean;
  /** Whether a card may exist: after `unknown`, repeat the call with the same key. */
  readonly outcome: Outcome;
  /** How many requests were sent. */
  readonly attempts: number;
  /**
   * Safe to show to the user: the `detail` of a 422
   * ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)), else a general sentence.
   */
  declare readonly userMessage: string;
  /** The rejected members of the request, from a 422. At most 50; empty when none are known. Show each `detail` beside its input. */
  declare readonly fields: readonly RejectedField[];
  /** The status of the response, when the call ended with one. */
  declare readonly status?: number;
  /** The problem details of a 4xx or 5xx, with all members that the service sent. */
  declare readonly problem?: ProblemDetails;
  /** The service's identifier of the request, when the response has one. */
  declare readonly requestId?: string;
  declare readonly idempotencyKey?: string;
  /** How long the service asked to wait, in milliseconds; at most 24 hours. */
  declare readonly retryAfterMs?: number;
  /** The id of a card that exists although the response is invalid (`invalid-response`). Store it. */
  declare readonly cardId?: string;

  constructor(message: string, facts: IssuingErrorFacts) {
    super(message + formatErrorLink(facts.code), facts.cause === undefined ? {} : { cause: facts.cause });
    const { status, requestId, idempotencyKey, retryAfterMs, cardId } = facts;
    this.code = facts.code;
    this.outcome = facts.outcome;
    this.retryable = facts.retryable ?? false;
    this.attempts = facts.attempts ?? 0;
    if (status !== undefined) this.status = status;
    if (requestId !== undefined) this.requestId = requestId;
    if (idempotencyKey !== undefined) this.idempotencyKey = idempotencyKey;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (cardId !== undefined) this.cardId = cardId;
    // These are not enumerable, so that they are not printed: text of the service can quote the user.
    Object.defineProperties(this, {
      userMessage: { value: facts.userMessage ?? generalUserMessage },
      fields: { value: facts.fields ?? [] },
      ...(facts.problem !== undefined && { problem: { value: facts.problem } }),
      [brand]: { value: true },
    });
  }
}

/** Whether a value is an error of the client, also of another installed copy of this package. */
export function isIssuingError(value: unknown): value is IssuingError {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** Creates the error for an invalid option or argument: nothing was sent, and a retry does not help. */
export function configurationError(message: string): IssuingError {
  return new IssuingError(message, { code: "configuration", outcome: "not-sent" });
}

/** Whether a value is a promise: a missing `await` is the cause of many invalid values. */
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === "function";

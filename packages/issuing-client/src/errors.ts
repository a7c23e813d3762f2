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
  | "idempotency-mismatch"
  | "idempotency-expired"
  | "configuration";

/** The effect of the whole call at the service. */
export type Outcome = (typeof outcomes)[number];

/** In order of increasing uncertainty. */
export const outcomes = ["not-sent", "rejected", "unknown"] as const;

export interface IssuingErrorFacts {
  code: IssuingErrorCode;
  outcome: Outcome;
  /** Whether the same call, with the same idempotency key, may succeed later. */
  retryable?: boolean;
  /** How many requests were sent. */
  attempts?: number;
  idempotencyKey?: string | undefined;
  /** Default: a general sentence. */
  userMessage?: string | undefined;
  cardId?: string | undefined;
  fields?: readonly RejectedField[] | undefined;
  /** How long the service asked to wait, in milliseconds; at most 24 hours. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Every error of the client, except the caller's own abort. The message ends with the address of the page that describes its `code`. */
export class IssuingError extends Error {
  override readonly name: string = "IssuingError";
  readonly code: IssuingErrorCode;
  readonly retryable: boolean;
  /** Whether a card may exist: after `unknown`, repeat the call with the same key. */
  readonly outcome: Outcome;
  readonly attempts: number;
  /**
   * Safe to show to the user: the `detail` of a 422
   * ([spec 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)), else a general sentence.
   */
  declare readonly userMessage: string;
  /**
   * The rejected members of the request, from a 422. At most 50; empty when none are known. Show each `detail` beside its input.
   */
  declare readonly fields: readonly RejectedField[];
  declare readonly idempotencyKey?: string;
  declare readonly retryAfterMs?: number;
  /** The id of a card that exists although the response is invalid (`invalid-response`). Store it. */
  declare readonly cardId?: string;

  constructor(message: string, facts: IssuingErrorFacts) {
    const link = formatErrorLink(facts.code);
    // The message of a copied error has the link already.
    const text = message.endsWith(link) ? message : message + link;
    super(text, facts.cause === undefined ? {} : { cause: facts.cause });
    this.code = facts.code;
    this.outcome = facts.outcome;
    this.retryable = facts.retryable ?? false;
    this.attempts = facts.attempts ?? 0;
    // These two are not enumerable, so they are not printed: text of the service can quote the user.
    Object.defineProperty(this, "userMessage", { value: facts.userMessage ?? generalUserMessage });
    Object.defineProperty(this, "fields", { value: facts.fields ?? [] });
    if (facts.idempotencyKey !== undefined) this.idempotencyKey = facts.idempotencyKey;
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.cardId !== undefined) this.cardId = facts.cardId;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** The service responded with 4xx or 5xx. */
export class ProblemError extends IssuingError {
  override readonly name = "ProblemError";
  readonly status: number;
  /** Problem details (RFC 9457) with all members that the service sent. */
  declare readonly problem: ProblemDetails;
  declare readonly requestId?: string;

  constructor(
    message: string,
    facts: IssuingErrorFacts & { status: number; problem: ProblemDetails; requestId?: string | undefined },
  ) {
    super(message, facts);
    this.status = facts.status;
    Object.defineProperty(this, "problem", { value: facts.problem }); // not printed
    if (facts.requestId !== undefined) this.requestId = facts.requestId;
  }
}

/** Whether a value is an error of the client, also of another installed copy of this package. */
export function isIssuingError(value: unknown): value is IssuingError {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** A copy for another caller. */
export const copyError = (error: IssuingError) => new IssuingError(error.message, error);

export function deadlineError({
  outcome,
  attempts = 0,
  idempotencyKey,
}: Pick<IssuingErrorFacts, "outcome" | "attempts" | "idempotencyKey">): IssuingError {
  const facts = { code: "deadline", retryable: true, outcome, attempts, idempotencyKey } as const;
  return new IssuingError("The call did not succeed before its deadline.", facts);
}

/** Creates the error for an invalid option or argument: nothing was sent, and a retry does not help. */
export function configurationError(message: string): IssuingError {
  return new IssuingError(message, { code: "configuration", outcome: "not-sent" });
}

/** Whether a value is a promise: a missing `await` is the cause of many invalid values. */
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === "function";

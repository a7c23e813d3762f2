/** Errors: what happened, whether a card may exist, and what to do next. */
import {
  issuingErrorBrand as brand,
  formatErrorLink,
  generalFormMessage,
  generalUserMessage,
  hasIssuingErrorBrand,
} from "@loyalty-cards/internal/errors";
import { textsOfMissingValues } from "@loyalty-cards/internal/format";

/**
 * Problem details (RFC 9457, [spec
 * 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)). Members that this
 * version does not know are present too.
 */
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
  /**
   * What is wrong, in the words of the service. It can quote what the user typed: show it to them,
   * and do not log it.
   */
  detail?: string;
}

/**
 * `validation` is 422, `conflict` 409 or 423, `rejected` a 4xx without its own code, `server` 5xx,
 * `configuration` an invalid option or argument.
 */
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

/** The members of an error. Those that are undefined are left out. */
export type IssuingErrorFacts = Pick<IssuingError, "code" | "outcome"> & {
  [Name in Exclude<keyof IssuingError, keyof Error | "code" | "outcome">]?:
    | IssuingError[Name]
    | undefined;
} & { cause?: unknown };

/**
 * Every error of the client, except the caller's own abort. The message ends with the address of
 * the page that describes its `code`.
 */
export class IssuingError extends Error {
  override readonly name = "IssuingError";
  declare readonly code: IssuingErrorCode;
  /** Whether the same call, with the same idempotency key, may succeed later. */
  readonly retryable: boolean = false;
  /** Whether a card may exist: after `unknown`, repeat the call with the same key. */
  declare readonly outcome: Outcome;
  /** How many requests were sent. */
  readonly attempts: number = 0;
  /**
   * Safe to show to the user: the `detail` of a 422 ([spec
   * 7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-7)), else a general
   * sentence.
   */
  declare readonly userMessage: string;
  /**
   * The rejected members of the request, from a 422. At most 50; empty when none are known. Show
   * each `detail` beside its input.
   */
  declare readonly fields: readonly RejectedField[];
  /** The status of the response, when the call ended with one. */
  declare readonly status?: number;
  /** The problem details of a 4xx or 5xx, with all members that the service sent. */
  declare readonly problem?: ProblemDetails;
  /** The service's identifier of the request, when a usable response has one. */
  declare readonly requestId?: string;
  declare readonly idempotencyKey?: string;
  /** How long a 4xx or 5xx of the service asked to wait, in milliseconds; at most 24 hours. */
  declare readonly retryAfterMs?: number;
  /**
   * The id of a card that exists although the response is invalid (`invalid-response`). Store it.
   */
  declare readonly cardId?: string;

  constructor(message: string, facts: IssuingErrorFacts) {
    const general = facts.code === "validation" ? generalFormMessage : generalUserMessage;
    const { cause, userMessage = general, fields = [], problem, ...shown } = facts;
    super(message + formatErrorLink(facts.code), cause === undefined ? {} : { cause });
    Object.assign(
      this,
      Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
    );
    // These members are not enumerable, so that they are not printed: text of the service can quote
    // the user.
    Object.defineProperties(this, {
      userMessage: { value: userMessage },
      fields: { value: fields },
      ...(problem !== undefined && { problem: { value: problem } }),
      [brand]: { value: true },
    });
  }
}

/**
 * Whether a value is an error of the client, also of another installed copy of this package.
 * @example
 * ```ts
 * import { isIssuingError } from "@loyalty-cards/issuing-client";
 *
 * export function toMessage(error: unknown): string {
 *   if (!isIssuingError(error)) throw error;
 *   return error.userMessage;
 * }
 * ```
 */
export function isIssuingError(value: unknown): value is IssuingError {
  return hasIssuingErrorBrand(value);
}

/**
 * Creates the error for an invalid option or argument: nothing was sent, and a retry does not help.
 */
export function configurationError(message: string): IssuingError {
  return new IssuingError(message, { code: "configuration", outcome: "not-sent" });
}

/** How `requireKnownNames` reports an unknown option, and an unknown member of an argument. */
export const unknownOption = { toError: configurationError } as const;
export const unknownMember = { noun: "member", toError: configurationError } as const;

/** What is wrong with a value that is not the text that was meant, to follow its name. */
export function describeInvalidText(value: unknown): string {
  if (isPromise(value)) return "is a promise: await it";
  if (value === undefined || value === null) return "is missing or blank";
  if (typeof value !== "string") return `is of type ${typeof value}, not text`;
  if (value === "[object Promise]") return "is the text of a promise: await it";
  return textsOfMissingValues.includes(value) ? `is the text "${value}"` : "is missing or blank";
}

/** Whether a value is a promise: a missing `await` is the cause of many invalid values. */
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === "function";

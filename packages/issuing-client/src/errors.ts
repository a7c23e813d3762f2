/** What a failed call tells: what happened, whether a card may exist, and what to do next. */
import type { RejectedField } from "./fields.ts";
import type { ProblemDetails } from "./problem.ts";

/** `validation` is 422, `rejected` any 4xx without a name of its own, `server` 5xx, `configuration` a mistake in the call. */
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

/** Whether the service did what it was asked: certainly not, it refused, or nobody knows. Of the whole call. */
export type Outcome = (typeof outcomes)[number];

/** From the one that leaves nothing open to the one that leaves everything open. */
export const outcomes = ["not-sent", "rejected", "unknown"] as const;

export interface IssuingErrorFacts {
  code: IssuingErrorCode;
  outcome: Outcome;
  /** Whether the same call, with the same idempotency key, may succeed later. */
  retryable?: boolean;
  /** How many requests went out. */
  attempts?: number;
  idempotencyKey?: string | undefined;
  /** What may be shown to the user; a general sentence when absent. */
  userMessage?: string | undefined;
  /** The card of a response that is no card of the contract in other respects. */
  cardId?: string | undefined;
  /** The members of the request that were rejected; none when absent. */
  fields?: readonly RejectedField[] | undefined;
  /** How long the service asked to wait, in milliseconds. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

const generalMessage = "Your loyalty card is not available right now. Please try again later.";

/** Survives two copies of this package in one program, where instanceof does not. */
const brand = Symbol.for("@loyalty-cards/issuing-client/error");

/** Every error of the client, but for the caller's own abort. */
export class IssuingError extends Error {
  override readonly name: string = "IssuingError";
  readonly code: IssuingErrorCode;
  readonly retryable: boolean;
  /** `unknown`: a card may exist; repeat the call with the same key, do not start anew. */
  readonly outcome: Outcome;
  readonly attempts: number;
  /** Safe to render: the `detail` of a 422 (spec 7), and a general sentence for everything else. */
  declare readonly userMessage: string;
  /**
   * The members of the request that were rejected, by a 422 of the service or by the schema of the template; empty when none are
   * known, at most 50. Show each `detail` beside its input.
   */
  declare readonly fields: readonly RejectedField[];
  declare readonly idempotencyKey?: string;
  declare readonly retryAfterMs?: number;
  /** With `invalid-response`: the card exists and has this id, but another member has a value of another kind. Store it as if the call had succeeded. */
  declare readonly cardId?: string;

  constructor(message: string, facts: IssuingErrorFacts) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause });
    this.code = facts.code;
    this.outcome = facts.outcome;
    this.retryable = facts.retryable ?? false;
    this.attempts = facts.attempts ?? 0;
    // Reachable, but not printed: the service's words may quote the user.
    Object.defineProperty(this, "userMessage", { value: facts.userMessage ?? generalMessage });
    Object.defineProperty(this, "fields", { value: facts.fields ?? [] });
    if (facts.idempotencyKey !== undefined) this.idempotencyKey = facts.idempotencyKey;
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.cardId !== undefined) this.cardId = facts.cardId;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** The service answered, and the answer is a refusal or a fault of its own. */
export class ProblemError extends IssuingError {
  override readonly name = "ProblemError";
  readonly status: number;
  /** RFC 9457, with every member the service sent. */
  declare readonly problem: ProblemDetails;
  declare readonly requestId?: string;

  constructor(
    message: string,
    facts: IssuingErrorFacts & { status: number; problem: ProblemDetails; requestId?: string | undefined },
  ) {
    super(message, facts);
    this.status = facts.status;
    Object.defineProperty(this, "problem", { value: facts.problem }); // as userMessage
    if (facts.requestId !== undefined) this.requestId = facts.requestId;
  }
}

/** True for every error of this client, also when another copy of the package threw it. */
export function isIssuingError(value: unknown): value is IssuingError {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** The same error once more: what one caller changes, another does not see. */
export const copyOf = (error: IssuingError) => new IssuingError(error.message, error);

export function deadlineError({
  outcome,
  attempts,
  idempotencyKey,
}: Pick<IssuingErrorFacts, "outcome" | "attempts" | "idempotencyKey">): IssuingError {
  const message = "The call did not succeed before its deadline.";
  return new IssuingError(message, {
    code: "deadline",
    retryable: true,
    outcome,
    attempts: attempts ?? 0,
    idempotencyKey,
  });
}

/** A mistake in the program: nothing was sent, and trying again does not help. */
export function configurationError(message: string): IssuingError {
  return new IssuingError(message, { code: "configuration", outcome: "not-sent" });
}

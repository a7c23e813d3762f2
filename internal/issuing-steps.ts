/**
 * The steps of `issueCard` as separate functions, which the outbox calls, and how it finds them in
 * a client.
 */

/** Marks the errors of the client, including those of another installed copy of it. */
export const issuingErrorBrand = Symbol.for("@loyalty-cards/issuing-client/error");

/** Whether a value is an `IssuingError`, also of another installed copy of the client. */
export const hasIssuingErrorBrand = <IssuingError>(value: unknown): value is IssuingError =>
  typeof value === "object" &&
  value !== null &&
  (value as Record<symbol, unknown>)[issuingErrorBrand] === true;

/**
 * How long the service stores a key ([spec
 * 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)).
 */
export const keyRetentionMs = 24 * 3_600_000;

/**
 * How long after its first attempt a key may be used: a minute less, because clocks differ and a
 * request takes time.
 */
export const keyLifetimeMs = keyRetentionMs - 60_000;

/** No attempt is earlier: a time in seconds, read as milliseconds, is in 1970. */
export const earliestAttemptMs = Date.UTC(2001, 0, 1);

/** The `userMessage` of an error whose own text must not be shown to the user. */
export const generalUserMessage = "The loyalty service is not available right now.";

/**
 * Advice for a program, with which messages of the client end. The command leaves it out: a person
 * at a terminal reads the `userMessage`, and has no options.
 */
export const programAdvice = {
  userMessage: "userMessage says what to correct.",
  insecureHttp: "For a service on a private network, set allowInsecureHttp: true.",
} as const;

/** A request that was validated. */
export interface PreparedRequest {
  templateId: string;
  /** JSON: exactly the text that is sent. */
  body: string;
}

/** A request with its key. */
export interface KeyedRequest extends PreparedRequest {
  idempotencyKey: string;
  /** How long ago the key was used first. The request is not sent when that is unknown. */
  keyAgeMs: number | "new" | "unknown";
}

/** Time as the client sees it. Tests replace it to control timeouts, deadlines and delays. */
export interface Clock {
  /** The current date, in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Corrections of the date do not change it. */
  monotonicMs(): number;
  /**
   * Calls `wake` once, after `ms` milliseconds.
   * @param isBackground whether the timer keeps no process running.
   * @returns a function that cancels the timer.
   */
  after(ms: number, wake: () => void, isBackground?: boolean): () => void;
}

/** The steps throw the errors of `issueCard`. */
export interface IssuingSteps<Card> {
  readonly baseUrl: string;
  readonly idempotencyNamespace: string;
  readonly clock: Clock;
  /** The client's default of `deadlineMs`. */
  readonly deadlineMs: number;
  /**
   * Validates template and request, and returns what `issueCard` would send.
   * @throws {IssuingError} `configuration`.
   */
  prepare(template: string | { readonly id: string }, request: unknown): PreparedRequest;
  /**
   * Returns the user id as text: `42`, `42n` and `"42"` are one user.
   * @throws {IssuingError} `configuration`.
   */
  formatUserId(userId: string | number | bigint): string;
  /**
   * Derives the key as `issueCard` does, synchronously.
   * @throws {IssuingError} `configuration`, also in a runtime without node:crypto.
   */
  deriveKey(input: {
    templateId: string;
    userId: string | number | bigint;
    keySuffix?: string;
  }): string;
  /**
   * Sends a prepared request once, under a key. The `outcome` of its error is that of this attempt,
   * whatever earlier ones did; except after a conflict, which is about an earlier one.
   */
  send(
    request: KeyedRequest,
    options?: { deadlineMs?: number; signal?: AbortSignal },
  ): Promise<Card>;
}

/**
 * The property of a client that has its steps. The symbol is the same in every installed copy of
 * client and outbox. The type of a client does not show it.
 */
const stepsProperty = Symbol.for("@loyalty-cards/issuing-client/steps");

/**
 * Adds its steps to a client, for {@link readIssuingSteps}. The property is not enumerable: a copy
 * of a client, with other methods, is not one for the outbox.
 */
export function withIssuingSteps<Client extends object>(
  client: Client,
  steps: IssuingSteps<unknown>,
): Client {
  return Object.defineProperty(client, stepsProperty, { value: steps });
}

/** @throws {TypeError} for a value that is not a client of `createIssuingClient`. */
export function readIssuingSteps<Card>(client: unknown): IssuingSteps<Card> {
  const { [stepsProperty]: steps } = Object(client) as { [stepsProperty]?: IssuingSteps<Card> };
  if (steps !== undefined) return steps;
  throw new TypeError("The outbox needs the client that createIssuingClient returned.");
}

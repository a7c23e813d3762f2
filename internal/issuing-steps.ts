/** The steps of `issueCard` as separate functions, which the outbox calls: the member `internal` of a client, which its type does not show. */

/** Marks the errors of the client, including those of another installed copy of it. */
export const issuingErrorBrand = Symbol.for("@loyalty-cards/issuing-client/error");

/** The `userMessage` of an error whose own text must not be shown to the user. */
export const generalUserMessage = "The loyalty service is not available right now.";

/** A request that was validated. */
export interface PreparedRequest {
  templateId: string;
  /** JSON: exactly the text that is sent. */
  body: string;
}

/** Time as the client sees it. Tests replace it to control timeouts, deadlines and delays. */
export interface Clock {
  /** The current date, in milliseconds since 1970. */
  now(): number;
  /** Milliseconds since an arbitrary moment. Corrections of the date do not change it. */
  monotonicMs(): number;
  /** Calls `wake` once, after `ms` milliseconds. @returns a function that cancels the timer. */
  after(ms: number, wake: () => void): () => void;
}

/** The steps throw the errors of `issueCard`. */
export interface IssuingSteps<Card> {
  readonly baseUrl: string;
  readonly idempotencyNamespace: string;
  readonly clock: Clock;
  /** The client's default of `deadlineMs`. */
  readonly deadlineMs: number;
  /** Validates template and request, and returns what `issueCard` would send. @throws {IssuingError} `configuration`. */
  prepare(template: string | { readonly id: string }, request: unknown): PreparedRequest;
  /** Returns the user id as text: `42`, `42n` and `"42"` are one user. @throws {IssuingError} `configuration`. */
  formatUserId(userId: string | number | bigint): string;
  /** Derives the key as `issueCard` does, synchronously. @throws {IssuingError} `configuration`, also in a runtime without node:crypto. */
  deriveKey(input: { templateId: string; userId: string | number | bigint; keySuffix?: string }): string;
  /** Sends a prepared request once, under a key. `firstAttemptAt` is in milliseconds since 1970. */
  send(
    request: PreparedRequest & { idempotencyKey: string; firstAttemptAt?: number },
    options?: { deadlineMs?: number; signal?: AbortSignal },
  ): Promise<Card>;
}

/** @throws {TypeError} for a value that is not a client of `createIssuingClient`. */
export function readIssuingSteps<Card>(client: {
  getCard(cardId: string): Promise<Card>;
}): IssuingSteps<Card> {
  const { internal } = (client ?? {}) as { internal?: IssuingSteps<Card> };
  if (internal !== undefined) return internal;
  throw new TypeError("The outbox needs the client that createIssuingClient returned.");
}

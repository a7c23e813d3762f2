/**
 * The steps of `issueCard` as separate functions, which the outbox calls, and how it finds them in
 * a client.
 */
import type { Clock } from "./timers.ts";

/** A request that was validated. */
export interface PreparedRequest {
  templateId: string;
  /** JSON: exactly the text that is sent. */
  body: string;
}

/** A request with its key. */
export interface KeyedRequest extends PreparedRequest {
  idempotencyKey: string;
  /**
   * How long ago the key was used first. The outbox counts to the end of its attempt, so that none
   * is made during which the service may forget the key.
   *
   * - undefined: this is its first use;
   * - infinite: it was used, and nobody knows when;
   * - negative: a clock was ahead when it was used.
   */
  sinceFirstUseMs: number | undefined;
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
const stepsProperty = Symbol.for("@loyalty-cards/issuing-client/issuing-steps");

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

/** One call: its callers and deadline, its attempts and outcome, and its events. */

import { notify } from "@loyalty-cards/internal/reporting";
import type { OperationId } from "@loyalty-cards/openapi/operations";
import type { CallerOptions } from "./call-options.ts";
import { CallSignal, type Clock, TimeLimitError, waitWithin } from "./clock.ts";
import {
  IssuingError,
  type IssuingErrorCode,
  type IssuingErrorFacts,
  type Outcome,
  outcomes,
} from "./errors.ts";

/** The method that was called; `api` for every call through `client.api`. */
export type OperationName = OperationId | "api";

type CallEnd =
  /** The call ended with a response: a success, or an error of the service. */
  | { type: "response"; status: number }
  /** The call ended without a usable response. */
  | { type: "failure"; code: IssuingErrorCode }
  /** The caller aborted the call after a request was sent. */
  | { type: "abort" };

type CallEvent =
  /** A request is sent next, synchronously after the event. `attempt` counts from 1. */
  | { type: "attempt"; attempt: number; method: string }
  /** An attempt failed, and is retried after `delayMs`. It has the `status` of the response, or the `code` of a failure without one. */
  | { type: "retry"; attempt: number; status?: number; code?: IssuingErrorCode; delayMs: number }
  /**
   * The values of these fields on the card differ from those sent. The card may belong to an earlier request with the same key, even to
   * another person. The call succeeds all the same, because the service may change values. Emitted by `issueCard` before `response`.
   */
  | { type: "fields-differ"; fieldKeys: string[] }
  | (CallEnd & { attempts: number; durationMs: number });

/**
 * An event of a call, for logs and metrics, without keys, bodies and personal data. All events of one call have the same `callId`.
 * `response`, `failure` and `abort` end a call; each call has one of them.
 */
export type ClientEvent = CallEvent & { callId: number; operation: OperationName };

/** Which bodies of a success are usable. A success with any other body is a failure, which is retried. */
export type ExpectedBody = "json" | "json-or-empty" | "any";

export interface CallSetup {
  operation: OperationName;
  expectedBody: ExpectedBody;
  idempotencyKey: string | undefined;
  clock: Clock;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

/** Shared by all clients, so that a listener of several clients can distinguish their calls. */
let lastCallId = 0;

export class Call {
  readonly operation: OperationName;
  readonly expectedBody: ExpectedBody;
  readonly idempotencyKey: string | undefined;
  readonly clock: Clock;
  /** Aborted when the last caller stops waiting: with the caller's reason, or with a {@link TimeLimitError} at its deadline. */
  readonly signal = new CallSignal();
  attempts = 0;
  /** Whether the last attempt got a response. All callers then get it, even one that aborts meanwhile. */
  hasResponse = false;
  /** Whether a caller knows of an attempt with the same key before this call. It stays true when that caller stops waiting. */
  hasEarlierAttempt = false;
  /** Callers that still wait. */
  callers: readonly CallerOptions[];
  #outcome: Outcome = "not-sent";
  #isAttemptRunning = false;
  #isEndReported = false;
  readonly #callId = ++lastCallId;
  readonly #startedAtMs: number;
  readonly #onEvent: ((event: ClientEvent) => void) | undefined;

  constructor({ operation, expectedBody, idempotencyKey, clock, onEvent }: CallSetup, caller: CallerOptions) {
    this.operation = operation;
    this.expectedBody = expectedBody;
    this.idempotencyKey = idempotencyKey;
    this.clock = clock;
    this.callers = [caller];
    this.#startedAtMs = clock.monotonicMs();
    this.#onEvent = onEvent;
  }

  /** Time limit of one attempt: the longest of all callers. */
  get timeoutMs(): number {
    return this.#maximum("timeoutMs");
  }

  get maxRetries(): number {
    return this.#maximum("maxRetries");
  }

  get durationMs(): number {
    return Math.round(this.clock.monotonicMs() - this.#startedAtMs);
  }

  /** Time until the latest deadline of all callers. */
  remainingMs(): number {
    return this.#maximum("endsAtMs") - this.clock.monotonicMs();
  }

  isOver(): boolean {
    return this.signal.aborted || this.remainingMs() < 1;
  }

  #maximum(name: "timeoutMs" | "maxRetries" | "endsAtMs"): number {
    let maximum = 0;
    for (const caller of this.callers) maximum = Math.max(maximum, caller[name]);
    return maximum;
  }

  /**
   * Waits for the result until the caller's deadline or abort. When the last caller stops waiting, the work is aborted, and its result
   * says how the call ended.
   * @param result never rejects.
   * @throws {TimeLimitError} when the deadline passes while others still wait; the caller's `signal.reason`.
   */
  waitFor<Result>(result: Promise<Result>, caller: CallerOptions): Promise<Result> {
    const { clock } = this;
    const { signal, endsAtMs } = caller;
    if (!this.callers.includes(caller)) this.callers = [...this.callers, caller];
    if (caller.hasEarlierAttempt) this.hasEarlierAttempt = true;
    return waitWithin({ clock, endsAtMs: () => endsAtMs, signal }, result, (reason) => {
      if (this.hasResponse) return result;
      if (this.callers.length > 1) {
        this.callers = this.callers.filter((other) => other !== caller);
        return undefined;
      }
      this.signal.abort(reason);
      return result;
    });
  }

  /** @returns the number of the attempt. @throws the reason of the signal; {@link TimeLimitError} when no time is left. */
  beginAttempt(method: string): number {
    this.signal.throwIfAborted();
    const attempt = this.attempts + 1;
    this.notify({ type: "attempt", attempt, method });
    // The listener may have aborted the call, or used up the remaining time.
    this.signal.throwIfAborted();
    if (this.isOver()) throw new TimeLimitError();
    this.attempts = attempt;
    this.#isAttemptRunning = true;
    return attempt;
  }

  endAttempt(outcome: Outcome): void {
    this.#isAttemptRunning = false;
    if (outcomes.indexOf(outcome) > outcomes.indexOf(this.#outcome)) this.#outcome = outcome;
  }

  /** The least certain outcome of all attempts. */
  get outcome(): Outcome {
    return this.#isAttemptRunning ? "unknown" : this.#outcome;
  }

  error(message: string, facts: Omit<IssuingErrorFacts, "attempts" | "idempotencyKey">): IssuingError {
    const { attempts, idempotencyKey } = this;
    return new IssuingError(message, { ...facts, attempts, idempotencyKey });
  }

  /** Creates the error for a success without the expected content. @param cardId the id of the card, when the response has it. */
  invalidResponse(expected: string, cardId?: string): IssuingError {
    return this.error(`The service responded with something that is not ${expected}.`, {
      code: "invalid-response",
      outcome: "unknown",
      cardId,
    });
  }

  notify(event: CallEvent): void {
    if (this.#onEvent === undefined) return;
    notify(this.#onEvent, { callId: this.#callId, operation: this.operation, ...event });
  }

  /** Reports fields whose values differ, once for all callers. */
  notifyDifferentFields(getFieldKeys: () => string[]): void {
    if (this.#isEndReported || this.#onEvent === undefined) return;
    const fieldKeys = getFieldKeys();
    if (fieldKeys.length > 0) this.notify({ type: "fields-differ", fieldKeys });
  }

  /** Reports the end of the call, once for all callers. */
  notifyEnd(end: CallEnd): void {
    if (this.#isEndReported || this.#onEvent === undefined) return;
    this.#isEndReported = true;
    const { attempts, durationMs } = this;
    if (end.type !== "abort" || attempts > 0) this.notify({ ...end, attempts, durationMs });
  }
}

/** One call: who waits for it and until when, its attempts, and what is known of its outcome. */
import { Stop } from "./abort.ts";
import type { ClientEvent, Happening, OperationName } from "./client-event.ts";
import { type Clock, TimeUp, within } from "./clock.ts";
import {
  configurationError,
  deadlineError,
  IssuingError,
  type IssuingErrorFacts,
  type Outcome,
  outcomes,
} from "./errors.ts";
import { tell } from "./listener.ts";

/** What every method takes; what is absent is as the client was made. */
export interface CallOptions {
  /** Aborts the call wherever it is; it then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /** One attempt with its body, in milliseconds. */
  timeoutMs?: number | undefined;
  /** The whole call: attempts, pauses, bodies. In milliseconds. */
  deadlineMs?: number | undefined;
  /** 0 means none. */
  maxRetries?: number | undefined;
  /** Extra headers. `authorization`, `idempotency-key` and `content-*` cannot be overridden; a `user-agent` is appended to the client's. */
  headers?: Record<string, string> | undefined;
  /** Told about the answer, also when it is a problem. */
  onResponse?: ((meta: ResponseMeta) => void) | undefined;
}

/** What is known of an answer beside its content. */
export interface ResponseMeta {
  status: number;
  headers: Headers;
  attempts: number;
  /** The service's name for the request, where it tells one. */
  requestId?: string;
  idempotencyKey?: string;
  durationMs: number;
}

/** The times and the number of retries a call has when it does not say otherwise. */
export interface CallDefaults {
  timeoutMs: number;
  deadlineMs: number;
  maxRetries: number;
}

/** Null counts as absent. @throws {IssuingError} `configuration` for what is no object, by its name. */
export function checkedObject<Given extends object>(name: string, given: Given | null | undefined): Given {
  if (given === undefined || given === null) return {} as Given; // every member is optional
  if (typeof given === "object") return given;
  throw configurationError(`${name} must be an object, not ${typeof given}.`);
}

/** @throws {IssuingError} `configuration` for a value that is no number, by its name. */
export function checkedTimes(
  given: { [Name in keyof CallDefaults]?: unknown },
  defaults: CallDefaults,
): CallDefaults {
  const maxRetries = given.maxRetries ?? defaults.maxRetries;
  if (typeof maxRetries !== "number" || !Number.isInteger(maxRetries) || maxRetries < 0) {
    throw configurationError(`maxRetries must be a whole number, 0 or more, not ${String(maxRetries)}.`);
  }
  return {
    timeoutMs: checkedMs("timeoutMs", given.timeoutMs ?? defaults.timeoutMs),
    deadlineMs: checkedMs("deadlineMs", given.deadlineMs ?? defaults.deadlineMs),
    maxRetries,
  };
}

function checkedMs(name: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  throw configurationError(`${name} must be a number of milliseconds above 0, not ${String(value)}.`);
}

/** Who waits for a call, and what it asked for. */
export interface Caller {
  signal: AbortSignal | undefined;
  /** Its deadline, on the monotonic clock. */
  endsAtMs: number;
  timeoutMs: number;
  maxRetries: number;
  onResponse: ((meta: ResponseMeta) => void) | undefined;
}

export interface CallSetup {
  /** Which call of the client it is, for its events. */
  call: number;
  operation: OperationName;
  idempotencyKey: string | undefined;
  clock: Clock;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

export class Call {
  readonly operation: OperationName;
  readonly idempotencyKey: string | undefined;
  readonly clock: Clock;
  /** Aborted when the last caller has left: with its own reason, or with {@link TimeUp} at its deadline. */
  readonly signal = new Stop();
  attempts = 0;
  #outcome: Outcome = "not-sent";
  #isAttemptUnderWay = false;
  readonly #call: number;
  readonly #startedAtMs: number;
  #callers: Caller[];
  readonly #onEvent: ((event: ClientEvent) => void) | undefined;

  constructor({ call, operation, idempotencyKey, clock, onEvent }: CallSetup, caller: Caller) {
    this.operation = operation;
    this.idempotencyKey = idempotencyKey;
    this.clock = clock;
    this.#call = call;
    this.#startedAtMs = clock.monotonicMs();
    this.#callers = [caller];
    this.#onEvent = onEvent;
  }

  get callers(): readonly Caller[] {
    return this.#callers;
  }

  /** The limit of one attempt: no caller gets less than it asked for. */
  get timeoutMs(): number {
    return this.#greatest("timeoutMs");
  }

  get maxRetries(): number {
    return this.#greatest("maxRetries");
  }

  durationMs(): number {
    return Math.round(this.clock.monotonicMs() - this.#startedAtMs);
  }

  /** Until the latest deadline of those who wait. */
  remainingMs(): number {
    return this.#greatest("endsAtMs") - this.clock.monotonicMs();
  }

  /** Less than a millisecond is no time to begin anything in. */
  isOver(): boolean {
    return this.signal.aborted || this.remainingMs() < 1;
  }

  #greatest(name: "timeoutMs" | "maxRetries" | "endsAtMs"): number {
    let greatest = 0;
    for (const caller of this.#callers) greatest = Math.max(greatest, caller[name]);
    return greatest;
  }

  /**
   * Waits for the end of the call's work until the caller's own deadline or abort. The last caller to leave stops the work,
   * and learns from it how the call ended.
   * @param work never rejects. What it gives makes a value of the caller's own, or throws.
   * @throws the caller's `signal.reason`.
   */
  waitFor<Value>(work: Promise<() => Value>, caller: Caller): Promise<() => Value> {
    const { clock } = this;
    const { signal, endsAtMs } = caller;
    if (!this.#callers.includes(caller)) this.#callers.push(caller);
    return within({ clock, endsAtMs: () => endsAtMs, signal }, work, (reason) => {
      if (this.#callers.length === 1) {
        this.signal.abort(reason);
        return work;
      }
      this.#callers = this.#callers.filter((other) => other !== caller);
      if (!(reason instanceof TimeUp)) return Promise.reject(reason);
      // Made where the caller waits, so that its stack names the caller.
      return Promise.resolve(() => {
        throw this.deadlineError();
      });
    });
  }

  /** @throws {IssuingError} `deadline` when whoever was told of it took all the time there was. */
  beginAttempt(method: string): number {
    const attempt = this.attempts + 1;
    this.tell(() => ({ type: "attempt", attempt, method }));
    if (this.isOver()) throw this.deadlineError();
    this.attempts = attempt;
    this.#isAttemptUnderWay = true;
    return attempt;
  }

  /** The outcome of the whole call is that of the attempt which leaves most open. */
  noteOutcome(ofAttempt: Outcome): void {
    this.#isAttemptUnderWay = false;
    if (outcomes.indexOf(ofAttempt) > outcomes.indexOf(this.#outcome)) this.#outcome = ofAttempt;
  }

  get outcome(): Outcome {
    return this.#isAttemptUnderWay ? "unknown" : this.#outcome;
  }

  error(message: string, facts: Omit<IssuingErrorFacts, "attempts" | "idempotencyKey">): IssuingError {
    const { attempts, idempotencyKey } = this;
    return new IssuingError(message, { ...facts, attempts, idempotencyKey });
  }

  deadlineError(): IssuingError {
    return deadlineError(this);
  }

  /** The success is not what was promised: the service did the work. @param cardId where the response names the card all the same. */
  unpromised(what: string, cardId?: string): IssuingError {
    return this.error(`The service answered with something that is not ${what}.`, {
      code: "invalid-response",
      outcome: "unknown",
      cardId,
    });
  }

  /** Asks for the event only when somebody listens. */
  tell(happening: () => Happening): void {
    if (this.#onEvent === undefined) return;
    tell(this.#onEvent, { call: this.#call, operation: this.operation, ...happening() });
  }
}

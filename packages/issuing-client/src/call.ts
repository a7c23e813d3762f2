/** One call from the caller's side: its time, its attempts, and what is known of its outcome. */
import type { ClientEvent, Happening, OperationName } from "./client-event.ts";
import type { Clock } from "./clock.ts";
import {
  configurationError,
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
  /** More headers. They cannot replace the API key or the idempotency key, and not say what the body is. */
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

export interface CallSetup {
  /** Which call of the client it is, for its events. */
  call: number;
  operation: OperationName;
  idempotencyKey: string | undefined;
  signal: AbortSignal | undefined;
  times: CallDefaults;
  clock: Clock;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

export class Call {
  readonly operation: OperationName;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly maxRetries: number;
  attempts = 0;
  #outcome: Outcome = "not-sent";
  readonly #call: number;
  readonly #timeoutMs: number;
  readonly #startedAtMs: number;
  readonly #endsAtMs: number;
  readonly #onEvent: ((event: ClientEvent) => void) | undefined;

  constructor({ call, operation, idempotencyKey, signal, times, clock, onEvent }: CallSetup) {
    this.operation = operation;
    this.idempotencyKey = idempotencyKey;
    this.signal = signal;
    this.clock = clock;
    this.maxRetries = times.maxRetries;
    this.#call = call;
    this.#timeoutMs = times.timeoutMs;
    this.#startedAtMs = clock.monotonicMs();
    this.#endsAtMs = this.#startedAtMs + times.deadlineMs;
    this.#onEvent = onEvent;
  }

  durationMs(): number {
    return Math.round(this.clock.monotonicMs() - this.#startedAtMs);
  }

  remainingMs(): number {
    return this.#endsAtMs - this.clock.monotonicMs();
  }

  /** Less than a millisecond is no time to begin anything in. */
  isOver(): boolean {
    return this.remainingMs() < 1;
  }

  /** How long the next attempt may take. */
  attemptMs(): number {
    return Math.min(this.#timeoutMs, this.remainingMs());
  }

  /** @throws {IssuingError} `deadline` when whoever was told of it took all the time there was. */
  beginAttempt(method: string): number {
    const attempt = this.attempts + 1;
    this.tell(() => ({ type: "attempt", attempt, method }));
    if (this.isOver()) throw this.deadlineError();
    this.attempts = attempt;
    return attempt;
  }

  /** The outcome of the whole call is that of the attempt which leaves most open. */
  noteOutcome(ofAttempt: Outcome): void {
    if (outcomes.indexOf(ofAttempt) > outcomes.indexOf(this.#outcome)) this.#outcome = ofAttempt;
  }

  get outcome(): Outcome {
    return this.#outcome;
  }

  error(message: string, facts: Omit<IssuingErrorFacts, "attempts" | "idempotencyKey">): IssuingError {
    const { attempts, idempotencyKey } = this;
    return new IssuingError(message, { ...facts, attempts, idempotencyKey });
  }

  deadlineError(): IssuingError {
    return this.error("The call did not succeed before its deadline.", {
      code: "deadline",
      retryable: true,
      outcome: this.outcome,
    });
  }

  /** The success is not what was promised: the service did the work, but what it did is not told. */
  unpromised(what: string): IssuingError {
    return this.error(`The service answered with something that is not ${what}.`, {
      code: "invalid-response",
      outcome: "unknown",
    });
  }

  /** Asks for the event only when somebody listens. */
  tell(happening: () => Happening): void {
    if (this.#onEvent === undefined) return;
    tell(this.#onEvent, { call: this.#call, operation: this.operation, ...happening() });
  }
}

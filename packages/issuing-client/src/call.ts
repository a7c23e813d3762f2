/** One call from the caller's side: its time, its attempts, and what is known of its outcome. */
import type { ClientEvent, OperationName } from "./client-event.ts";
import type { Clock } from "./clock.ts";
import { configurationError, IssuingError, type IssuingErrorFacts, type Outcome } from "./errors.ts";
import { tell } from "./listener.ts";
import type { RetryBudget } from "./retry-budget.ts";

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
  const positive = (name: "timeoutMs" | "deadlineMs"): number => {
    const value = given[name] ?? defaults[name];
    if (typeof value === "number" && value > 0) return value;
    throw configurationError(`${name} must be a number of milliseconds above 0, not ${String(value)}.`);
  };
  const maxRetries = given.maxRetries ?? defaults.maxRetries;
  if (typeof maxRetries !== "number" || !Number.isInteger(maxRetries) || maxRetries < 0) {
    throw configurationError(`maxRetries must be a whole number, 0 or more, not ${String(maxRetries)}.`);
  }
  return { timeoutMs: positive("timeoutMs"), deadlineMs: positive("deadlineMs"), maxRetries };
}

export interface CallSetup {
  operation: OperationName;
  idempotencyKey: string | undefined;
  signal: AbortSignal | undefined;
  times: CallDefaults;
  clock: Clock;
  random: () => number;
  budget: RetryBudget;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

export class Call {
  readonly operation: OperationName;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly budget: RetryBudget;
  readonly maxRetries: number;
  attempts = 0;
  #mayHaveHappened = false;
  readonly #times: CallDefaults;
  readonly #startedAtMs: number;
  readonly #onEvent: ((event: ClientEvent) => void) | undefined;

  constructor({ operation, idempotencyKey, signal, times, clock, random, budget, onEvent }: CallSetup) {
    this.operation = operation;
    this.idempotencyKey = idempotencyKey;
    this.signal = signal;
    this.clock = clock;
    this.random = random;
    this.budget = budget;
    this.maxRetries = times.maxRetries;
    this.#times = times;
    this.#startedAtMs = clock.monotonicMs();
    this.#onEvent = onEvent;
  }

  durationMs(): number {
    return Math.round(this.clock.monotonicMs() - this.#startedAtMs);
  }

  remainingMs(): number {
    return this.#startedAtMs + this.#times.deadlineMs - this.clock.monotonicMs();
  }

  /** Less than a millisecond is no time to begin anything in. */
  isOver(): boolean {
    return this.remainingMs() < 1;
  }

  /** How long the next attempt may take. */
  attemptMs(): number {
    return Math.min(this.#times.timeoutMs, this.remainingMs());
  }

  beginAttempt(): number {
    this.attempts += 1;
    this.tell({ type: "attempt", operation: this.operation, attempt: this.attempts });
    return this.attempts;
  }

  /** From here on no failure can be called "not sent" any more, and few "rejected". */
  noteMayHaveHappened(): void {
    this.#mayHaveHappened = true;
  }

  /** The outcome of the whole call, when its last attempt ended so. */
  outcome(last: Outcome): Outcome {
    return this.#mayHaveHappened ? "unknown" : last;
  }

  error(message: string, facts: Omit<IssuingErrorFacts, "attempts" | "idempotencyKey">): IssuingError {
    const { attempts, idempotencyKey } = this;
    return new IssuingError(message, { ...facts, attempts, idempotencyKey });
  }

  deadlineError(): IssuingError {
    const outcome = this.outcome("not-sent");
    return this.error("The call did not succeed before its deadline.", {
      code: "deadline",
      retryable: true,
      outcome,
    });
  }

  tell(event: ClientEvent): void {
    tell(this.#onEvent, event);
  }
}

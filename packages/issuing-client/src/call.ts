/** One call from the caller's side: its time, its attempts, and what is known of its outcome. */
import type { ClientEvent, OperationName } from "./client-event.ts";
import type { Clock } from "./clock.ts";
import { configurationError, IssuingError, type IssuingErrorFacts, type Outcome } from "./errors.ts";
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
  /** More headers. They cannot replace the API key or the idempotency key. */
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

/** @throws {IssuingError} `configuration`. The runtime's own error would quote the value. */
export function checkedHeaders(headers: Record<string, string> = {}): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]]);
    } catch {
      throw configurationError(`headers has an entry (${JSON.stringify(name)}) that no request can carry.`);
    }
  }
  return headers;
}

export interface CallSetup {
  operation: OperationName;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  times: CallDefaults;
  clock: Clock;
  random: () => number;
  budget: RetryBudget;
  onEvent: ((event: ClientEvent) => void) | undefined;
}

export type Call = ReturnType<typeof startCall>;

export function startCall({
  operation,
  idempotencyKey,
  signal,
  times,
  clock,
  random,
  budget,
  onEvent,
}: CallSetup) {
  const startedAtMs = clock.now();
  let attempts = 0;
  let mayHaveHappened = false;

  return {
    operation,
    idempotencyKey,
    signal,
    clock,
    random,
    budget,
    maxRetries: times.maxRetries,
    get attempts() {
      return attempts;
    },
    durationMs: () => clock.now() - startedAtMs,
    remainingMs: () => startedAtMs + times.deadlineMs - clock.now(),
    /** How long the next attempt may take. */
    attemptMs: () => Math.min(times.timeoutMs, startedAtMs + times.deadlineMs - clock.now()),
    countAttempt(): number {
      attempts += 1;
      this.tell({ type: "attempt", operation, attempt: attempts });
      return attempts;
    },
    /** From here on no failure can be called "not sent" or "rejected" any more. */
    noteMayHaveHappened(): void {
      mayHaveHappened = true;
    },
    /** The outcome of the whole call, when its last attempt ended so. */
    outcome: (last: Outcome): Outcome => (mayHaveHappened ? "unknown" : last),
    error(message: string, facts: Omit<IssuingErrorFacts, "attempts" | "idempotencyKey">): IssuingError {
      return new IssuingError(message, { ...facts, attempts, idempotencyKey });
    },
    /** Telemetry may not cost a call. */
    tell(event: ClientEvent): void {
      try {
        onEvent?.(event);
      } catch {
        // whoever listens has to handle what it throws
      }
    },
  };
}

/** Options of one call: validated once, when a method is called. */
import type { Clock } from "./clock.ts";
import { configurationError } from "./errors.ts";

/** Time limits and retries, of all calls of a client or of one call. */
export interface LimitOptions {
  /** Time limit of one attempt, including the body of the response, in milliseconds. Default 10 000; of a call, the value of its client. */
  timeoutMs?: number | undefined;
  /** Time limit of a whole call with its attempts, delays and bodies, in milliseconds. Default 30 000; of a call, the value of its client. */
  deadlineMs?: number | undefined;
  /** Maximum number of retries of a call; 0 disables retries. Default 2; of a call, the value of its client. */
  maxRetries?: number | undefined;
}

/** Options of every method. */
export interface CallOptions extends LimitOptions {
  /** Aborts the call, which then rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /**
   * Extra headers. A `user-agent` is appended to the client's. `authorization`, `accept` and, in `issueCard`, `idempotency-key` are
   * replaced by the client's. `content-*`, `expect`, `host`, `proxy-*` and headers of the connection, such as `te`, throw.
   */
  headers?: Record<string, string> | undefined;
  /** Called with every response, including errors. */
  onResponse?: ((meta: ResponseMeta) => void) | undefined;
}

/** Metadata of a response. */
export interface ResponseMeta {
  status: number;
  headers: Headers;
  /** How many requests the call has sent. */
  attempts: number;
  /** The service's identifier of the request, when the response has one. */
  requestId?: string;
  idempotencyKey?: string;
  /** true when the service says that this is the response to an earlier request with the same key. Absent when it does not say. */
  replayed?: boolean;
  durationMs: number;
}

export type CallLimits = Record<keyof LimitOptions, number>;

/** One caller of a call. A shared call has several. */
export interface CallerOptions {
  signal: AbortSignal | undefined;
  /** The deadline, on the monotonic clock. */
  endsAtMs: number;
  timeoutMs: number;
  maxRetries: number;
  /** Whether the caller knows of an attempt with the same key before this call. */
  hasEarlierAttempt: boolean;
  /** Names in lower case. The object is new, because the request adds its own headers. */
  headers: Record<string, string>;
  onResponse: ((meta: ResponseMeta) => void) | undefined;
}

/** @throws {IssuingError} `configuration` for an invalid option; the `reason` of a signal that is aborted already. */
export function parseCallOptions(options: CallOptions, defaults: CallLimits, clock: Clock): CallerOptions {
  const { signal, onResponse } = options;
  if (signal && typeof signal.throwIfAborted !== "function")
    throw configurationError("signal must be an AbortSignal.");
  const { timeoutMs, deadlineMs, maxRetries } = parseLimits(options, defaults);
  signal?.throwIfAborted();
  return {
    signal: signal ?? undefined,
    endsAtMs: clock.monotonicMs() + deadlineMs,
    timeoutMs,
    maxRetries,
    hasEarlierAttempt: false,
    headers: parseHeaders(options.headers),
    onResponse: onResponse ?? undefined,
  };
}

/** @returns the object, or an empty one for null and undefined. @throws {IssuingError} `configuration` for any other value. */
export function parseObject<Value extends object>(name: string, value: Value | null | undefined): Value {
  if (value === undefined || value === null) return {} as Value; // every member is optional
  if (typeof value === "object") return value;
  throw configurationError(`${name} must be an object, not ${typeof value}.`);
}

/** @throws {IssuingError} `configuration`, naming the option. */
export function parseLimits(
  options: { [Name in keyof CallLimits]?: unknown },
  defaults: CallLimits,
): CallLimits {
  const maxRetries = options.maxRetries ?? defaults.maxRetries;
  if (typeof maxRetries !== "number" || !Number.isInteger(maxRetries) || maxRetries < 0) {
    throw configurationError(`maxRetries must be a whole number, 0 or more, not ${String(maxRetries)}.`);
  }
  return {
    timeoutMs: parseMs("timeoutMs", options.timeoutMs ?? defaults.timeoutMs),
    deadlineMs: parseMs("deadlineMs", options.deadlineMs ?? defaults.deadlineMs),
    maxRetries,
  };
}

function parseMs(name: string, value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  throw configurationError(`${name} must be a number of milliseconds above 0, not ${String(value)}.`);
}

/** Headers of the connection and of the body, which the client or the transport sets. */
const reservedHeaders =
  /^(connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

/** @returns a new object with names in lower case. @throws {IssuingError} `configuration`, without the value of a header. */
export function parseHeaders(headers: Record<string, string> | undefined): Record<string, string> {
  const parsed: Record<string, string> = {};
  for (const [key, value] of Object.entries(headers ?? {})) {
    const name = key.toLowerCase();
    if (reservedHeaders.test(name))
      throw configurationError(
        `headers must not have ${JSON.stringify(key)}: the client or the connection sets it.`,
      );
    try {
      new Headers([[name, value]]);
    } catch {
      // The runtime's error would quote the value.
      throw configurationError(
        `headers has an invalid entry, ${JSON.stringify(key)}: a name or value contains characters that are not allowed.`,
      );
    }
    parsed[name] = value;
  }
  return parsed;
}

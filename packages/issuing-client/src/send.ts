/** Sends one call: attempts, time limits, retries, events, and the value or the error at its end. */
import { notify } from "@loyalty-cards/internal/reporting";
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { type Clock, sleep, timeLimit, waitWithin } from "./clock.ts";
import { configurationError, IssuingError, type Outcome } from "./errors.ts";
import type { CallEnd, CallEvent, ResponseMeta } from "./events.ts";
import type { AttemptFailure } from "./network-failure.ts";
import { type CallSettings, getService, parseApiKey, type Settings } from "./options.ts";
import { type RejectedRequest, toRejection } from "./rejection.ts";
import {
  type AttemptResult,
  type ExpectedBody,
  isResponse,
  type Reading,
  type ReceivedResponse,
  readResponse,
  toFailure,
  toInvalidResponse,
} from "./response.ts";
import {
  addOutcome,
  getBackoffMs,
  getRetryAfterMs,
  isConflict,
  isIdempotent,
  isRetryable,
  retryPolicy,
} from "./retry.ts";
import type { Exchange, HttpRequest } from "./transport.ts";

/** One call of one operation. */
export interface Call extends RejectedRequest {
  method: string;
  /** Follows the address of the service. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  expectedBody: ExpectedBody;
  idempotencyKey?: string | undefined;
}

/**
 * Creates the call of an operation.
 * @param id the id in the path.
 * @param given `query` begins with `?`; `body` is JSON.
 */
export function createCall(
  operation: OperationId,
  id: string,
  {
    query = "",
    ...given
  }: { query?: string; body?: string; idempotencyKey?: string; hasEarlierAttempt?: boolean } = {},
): Call {
  const { method, path } = operations[operation];
  const headers: Record<string, string> = { accept: "application/json, application/problem+json" };
  if (given.body !== undefined) headers["content-type"] = "application/json";
  return {
    operation,
    method,
    path: `/api/v1${path.replace(/\{\w+\}/, encodeURIComponent(id))}${query}`, // spec 9
    headers,
    id,
    // The specification does not show the response to setConsent, so every body is usable (spec 4.5).
    expectedBody: operation === "setConsent" ? "any" : "json",
    ...given,
  };
}

/** Shared by all clients, so that a listener of several clients can distinguish their calls. */
let lastCallId = 0;

/**
 * Sends a request until it succeeds, cannot be retried, or no retry or time is left.
 * @param read converts the body of a success.
 * @throws {IssuingError}; the `reason` of the caller's signal.
 */
export async function send<Value>(
  settings: Settings,
  call: Call,
  options: CallSettings,
  read: (response: ReceivedResponse) => Reading<Value>,
): Promise<Value> {
  const { baseUrl, transport } = getService(settings);
  const { clock, random, onEvent } = settings;
  const { operation, method, expectedBody, idempotencyKey, hasEarlierAttempt = false } = call;
  const { signal, endsAtMs, maxRetries, onResponse } = options;
  const callId = ++lastCallId;
  const startedAtMs = clock.monotonicMs();
  const emit = (event: CallEvent) => onEvent && notify(onEvent, { callId, operation, ...event });

  let attempts = 0;
  let outcome: Outcome = "not-sent";
  let failures = 0;
  let firstConflictAtMs: number | undefined;
  let result: AttemptResult;
  try {
    const { apiKey } = settings;
    const key = typeof apiKey === "function" ? await callApiKeyFunction(apiKey, settings, options) : apiKey;
    const request = createRequest(settings, call, options, parseApiKey(key));
    for (;;) {
      requireTime(options, clock);
      emit({ type: "attempt", attempt: attempts + 1, method });
      const remainingMs = requireTime(options, clock); // the listener may have aborted the call, or used up its time
      attempts += 1;
      const received = await waitForResponse(transport(request), settings, options, remainingMs);
      result = "code" in received ? received : readResponse(received, baseUrl, expectedBody);
      if (isResponse(result) && result.status < 400) break;
      outcome = addOutcome(outcome, result);

      const requestedMs = getRetryAfterMs(result, clock.now());
      let delayMs = requestedMs ?? getBackoffMs(attempts, random);
      if (isConflict(result) && idempotencyKey !== undefined) {
        // An attempt with this key may still run. If no earlier one is known, a conflict that lasts is an error of the request.
        const { minDelayMs, maxDelayMs, maxMs } = retryPolicy.conflict;
        delayMs = Math.max(minDelayMs, requestedMs ?? Math.min(maxDelayMs, delayMs));
        firstConflictAtMs ??= clock.monotonicMs();
        const passedMs = clock.monotonicMs() + delayMs - firstConflictAtMs;
        if (passedMs > maxMs && !hasEarlierAttempt && outcome !== "unknown") break;
      } else {
        failures += 1;
        if (!isRetryable(result) || failures > maxRetries) break;
      }
      if (maxRetries === 0 || !isIdempotent(method, idempotencyKey)) break;
      if (delayMs >= endsAtMs - clock.monotonicMs()) break;
      const failure = isResponse(result) ? { status: result.status } : { code: result.code };
      emit({ type: "retry", attempt: attempts, ...failure, delayMs });
      await sleep(delayMs, { clock, signal });
      if (endsAtMs - clock.monotonicMs() < 1) break; // the timer fired late: the last result says more than a deadline
    }

    // A card may be issued now, so what listeners do, such as an abort, has no effect any more.
    const facts = { attempts, outcome, idempotencyKey };
    if (!isResponse(result)) throw toFailure(result, facts);
    const { status } = result;
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    if (onResponse !== undefined)
      notify(onResponse, toMeta(result, { attempts, idempotencyKey, durationMs }));
    if (status >= 400 && operation !== "api")
      throw toRejection(result, call, facts, { baseUrl, nowMs: clock.now() });
    const reading = read(result);
    if (!("value" in reading)) throw toInvalidResponse(result, reading, facts);
    const { value, differentFields: fieldKeys = [] } = reading;
    if (fieldKeys.length > 0) emit({ type: "fields-differ", fieldKeys });
    emit({ type: "response", status, attempts, durationMs });
    return value;
  } catch (thrown) {
    const facts = { attempts, outcome, idempotencyKey };
    const error = thrown === timeLimit ? toFailure({ ...pastDeadline, wasSent: false }, facts) : thrown;
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    emit({ ...toEnd(error, signal), attempts, durationMs });
    throw error;
  }
}

/** @returns the time until the deadline. @throws {@link timeLimit} when no time is left; the `reason` of an aborted signal. */
function requireTime({ signal, endsAtMs }: CallSettings, clock: Clock): number {
  signal?.throwIfAborted();
  const remainingMs = endsAtMs - clock.monotonicMs();
  if (remainingMs < 1) throw timeLimit;
  return remainingMs;
}

/** Calls the apiKey function once for all attempts, within the deadline. */
async function callApiKeyFunction(
  apiKey: () => unknown,
  { clock }: Settings,
  { endsAtMs, signal }: CallSettings,
): Promise<unknown> {
  try {
    return await waitWithin(endsAtMs - clock.monotonicMs(), (async () => apiKey())(), { clock, signal });
  } catch (error) {
    signal?.throwIfAborted();
    // The function's own error is dropped: it can quote the key.
    throw error === timeLimit ? error : configurationError("The apiKey function failed; nothing was sent.");
  }
}

/** Adds the headers that every request has. */
function createRequest(
  settings: Settings,
  { method, path, headers: ownHeaders, body, idempotencyKey }: Call,
  options: CallSettings,
  apiKey: string,
): HttpRequest {
  const headers: Record<string, string> = { ...settings.headers, ...options.headers, ...ownHeaders };
  const { userAgent } = settings;
  const program = headers["user-agent"];
  headers["user-agent"] = program === undefined ? userAgent : `${userAgent} ${program}`;
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  headers["authorization"] = `Bearer ${apiKey}`; // spec 5.1
  return { method, path, headers, body };
}

/** Waits for the response of one attempt. @param remainingMs until the deadline of the call. @throws the `reason` of the signal. */
async function waitForResponse(
  { response, abort }: Exchange,
  { clock }: Settings,
  { signal, timeoutMs }: CallSettings,
  remainingMs: number,
): Promise<Awaited<Exchange["response"]> | AttemptFailure> {
  try {
    return await waitWithin(Math.min(timeoutMs, remainingMs), response, { clock, signal, stop: abort });
  } catch (reason) {
    if (reason !== timeLimit) throw reason;
    return remainingMs <= timeoutMs
      ? { ...pastDeadline, wasSent: true }
      : { code: "timeout", message: "The service did not respond in time.", wasSent: true, retryable: true };
  }
}

const pastDeadline = {
  code: "deadline",
  message: "The call did not succeed before its deadline.",
  retryable: true,
} as const;

/** The specification names no header for a replay; these two are common. */
const replayHeaders = ["idempotent-replayed", "idempotency-replayed"];

function toMeta(
  { status, header, headers, requestId }: ReceivedResponse,
  {
    attempts,
    idempotencyKey,
    durationMs,
  }: { attempts: number; idempotencyKey: string | undefined; durationMs: number },
): ResponseMeta {
  const isReplayed = replayHeaders.some((name) => header(name)?.trim().toLowerCase() === "true");
  return {
    status,
    headers: headers(),
    attempts,
    durationMs,
    ...(requestId !== undefined && { requestId }),
    ...(isReplayed && { replayed: true }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

function toEnd(error: unknown, signal: AbortSignal | undefined): CallEnd {
  if (signal?.aborted === true && error === signal.reason) return { type: "abort" };
  if (!(error instanceof IssuingError)) return { type: "failure", code: "configuration" }; // a mistake in the program
  const { problem, code } = error;
  return problem === undefined ? { type: "failure", code } : { type: "response", status: problem.status };
}

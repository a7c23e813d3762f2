/** Sends one call: attempts, time limits, retries, events, and the value or the error at its end. */
import { notify } from "@loyalty-cards/internal/reporting";
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import type { Call, CallEnd, CallEvent, HttpRequest, ResponseMeta } from "./call.ts";
import { sleep, timeLimit, waitWithin } from "./clock.ts";
import { configurationError, IssuingError, type Outcome } from "./errors.ts";
import { type CallSettings, getService, parseApiKey, type Settings } from "./options.ts";
import { toRejection } from "./rejection.ts";
import {
  type AttemptResult,
  getRequestId,
  isResponse,
  type Reading,
  readResponse,
  toCallError,
  type UsableResponse,
} from "./response.ts";
import {
  addOutcome,
  getBackoffMs,
  getRetryAfterMs,
  isIdempotent,
  isRetryable,
  mayStillRun,
  retryPolicy,
} from "./retry.ts";

/**
 * Creates the call of an operation.
 * @param id the id in the path.
 * @param content `query` begins with `?`; `body` is JSON.
 */
export function createCall(
  operation: OperationId,
  id: string,
  content: Pick<Call, "body" | "idempotencyKey" | "hasEarlierAttempt"> & { query?: string } = {},
): Call {
  const { query = "", ...others } = content;
  const { method, path } = operations[operation];
  return {
    operation,
    method,
    path: `/api/v1${path.replace(/\{\w+\}/, encodeURIComponent(id))}${query}`, // spec 9
    contentType: others.body === undefined ? undefined : "application/json",
    id,
    ...others,
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
  read: (response: UsableResponse) => Reading<Value>,
): Promise<Value> {
  const { baseUrl, transport } = getService(settings);
  const { apiKey, clock, random, onEvent } = settings;
  const { operation, method, idempotencyKey, hasEarlierAttempt } = call;
  const { signal, timeoutMs, endsAtMs, maxRetries, onResponse } = options;
  const callId = ++lastCallId;
  const startedAtMs = clock.monotonicMs();
  const getDurationMs = () => Math.round(clock.monotonicMs() - startedAtMs);
  const emit = (event: CallEvent) => onEvent && notify(onEvent, { callId, operation, ...event });

  let attempts = 0;
  let outcome: Outcome = "not-sent";
  let failures = 0;
  let firstConflictAtMs: number | undefined;
  let result: AttemptResult;
  const getFacts = () => ({ attempts, outcome, idempotencyKey });
  const getRemainingMs = () => {
    signal?.throwIfAborted();
    const remainingMs = endsAtMs - clock.monotonicMs();
    if (remainingMs >= 1) return remainingMs;
    throw toCallError(pastDeadline, getFacts());
  };
  try {
    const key = typeof apiKey === "function" ? await callApiKeyFunction(apiKey, settings, options) : apiKey;
    if (key === timeLimit) throw toCallError(pastDeadline, getFacts());
    getRemainingMs();
    const request = createRequest(settings, call, options, parseApiKey(key));
    for (;;) {
      emit({ type: "attempt", attempt: attempts + 1, method });
      const remainingMs = getRemainingMs(); // the listener may have aborted the call, or used up its time
      attempts += 1;
      const { response, abort } = transport(request);
      const arrived = await waitWithin(Math.min(timeoutMs, remainingMs), response, { clock, signal }, abort);
      if (arrived === timeLimit) result = remainingMs <= timeoutMs ? pastDeadline : timedOut;
      else result = "text" in arrived ? readResponse(arrived, operation) : arrived;
      if (isResponse(result) && result.status < 400) break;
      outcome = addOutcome(outcome, result);

      const requestedMs = getRetryAfterMs(result, clock.now());
      let delayMs = requestedMs ?? getBackoffMs(attempts, random);
      if (mayStillRun(result, idempotencyKey)) {
        if (hasEarlierAttempt) outcome = "unknown";
        const { minDelayMs, maxDelayMs, maxMs } = retryPolicy.conflict;
        delayMs = Math.max(minDelayMs, requestedMs ?? Math.min(maxDelayMs, delayMs));
        firstConflictAtMs ??= clock.monotonicMs();
        const passedMs = clock.monotonicMs() + delayMs - firstConflictAtMs;
        // If no earlier attempt is known, a conflict that lasts is an error of the request.
        if (passedMs > maxMs && outcome !== "unknown") break;
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
    if (!isResponse(result)) throw toCallError(result, getFacts());
    const { status } = result;
    const durationMs = getDurationMs();
    if (onResponse !== undefined)
      notify(onResponse, toMeta(result, { attempts, idempotencyKey, durationMs }));
    if (status >= 400 && operation !== "api")
      throw toRejection(result, call, getFacts(), { baseUrl, nowMs: clock.now() });
    const reading = read(result);
    if (!("value" in reading))
      throw toCallError(reading, { ...getFacts(), outcome: "unknown", requestId: getRequestId(result) });
    const { value, differentFields: fieldKeys = [] } = reading;
    if (fieldKeys.length > 0) emit({ type: "fields-differ", fieldKeys });
    emit({ type: "response", status, attempts, durationMs });
    return value;
  } catch (error) {
    emit({ ...toEnd(error, signal), attempts, durationMs: getDurationMs() });
    throw error;
  }
}

const late = { code: "deadline", wasSent: true, retryable: true } as const;
const pastDeadline = { ...late, message: "The call did not succeed before its deadline." };
const timedOut = { ...late, code: "timeout", message: "The service did not respond in time." } as const;

/** Calls the apiKey function once for all attempts, within the deadline. */
async function callApiKeyFunction(
  apiKey: () => unknown,
  { clock }: Settings,
  { endsAtMs, signal }: CallSettings,
): Promise<unknown> {
  try {
    return await waitWithin(endsAtMs - clock.monotonicMs(), (async () => apiKey())(), { clock, signal });
  } catch {
    signal?.throwIfAborted();
    // The function's own error is dropped: it can quote the key.
    throw configurationError("The apiKey function failed; nothing was sent.");
  }
}

/** Adds the headers that every request has, which replace the caller's. */
function createRequest(
  { userAgent }: Settings,
  { operation, method, path, contentType, body, idempotencyKey }: Call,
  options: CallSettings,
  apiKey: string,
): HttpRequest {
  const program = options.headers["user-agent"];
  const headers: Record<string, string> = {
    ...options.headers,
    "user-agent": program === undefined ? userAgent : `${userAgent} ${program}`,
    authorization: `Bearer ${apiKey}`, // spec 5.1
  };
  if (operation !== "api") headers["accept"] = "application/json, application/problem+json";
  if (contentType !== undefined) headers["content-type"] = contentType;
  if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
  return { method, path, headers, body };
}

/** The specification names no header for a replay; these two are common. */
const replayHeaders = ["idempotent-replayed", "idempotency-replayed"];

function toMeta(response: UsableResponse, call: Omit<ResponseMeta, "status" | "headers">): ResponseMeta {
  const { status, header, headers } = response;
  const isReplayed = replayHeaders.some((name) => header(name)?.trim().toLowerCase() === "true");
  const requestId = getRequestId(response);
  return { ...call, status, headers: headers(), requestId, replayed: isReplayed || undefined };
}

function toEnd(error: unknown, signal: AbortSignal | undefined): CallEnd {
  if (signal?.aborted === true && error === signal.reason) return { type: "abort" };
  if (!(error instanceof IssuingError)) return { type: "failure", code: "configuration" }; // a mistake in the program
  const { problem, code } = error;
  return problem === undefined ? { type: "failure", code } : { type: "response", status: problem.status };
}

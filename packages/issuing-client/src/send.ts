/**
 * Sends one call: attempts, time limits, retries, events, and the value or the error at its end.
 */
import { logListenerError, notify } from "@loyalty-cards/internal/reporting";
import type { Result } from "@loyalty-cards/internal/result";
import { type OperationId, operations } from "@loyalty-cards/openapi/operations";
import { parseApiKey } from "./api-key.ts";
import type { Call, CallEnd, CallEvent, ResponseMeta } from "./call.ts";
import { type CallFacts, toFailureError, toResponseError } from "./call-error.ts";
import { sleep, waitWithin } from "./clock.ts";
import { IssuingError } from "./errors.ts";
import type { CallSettings } from "./options.ts";
import { type AttemptResult, getRequestId, readResponse, type UsableResponse } from "./response.ts";
import { createState, decideNext } from "./retry.ts";
import { describeMissing } from "./runtime.ts";
import { type AttemptFailure, type HttpRequest, notSent } from "./transport.ts";

/**
 * Creates the call of an operation of the API.
 * @param id the id in the path.
 * @param content `query` begins with `?`; `body` is JSON.
 */
export function createCall<Value>(
  operation: OperationId,
  id: string,
  { query = "", ...content }: CallContent<Value>,
): Call<Value> {
  const { method, path } = operations[operation];
  return {
    operation,
    method,
    path: `/api/v1${path.replace(/\{\w+\}/, encodeURIComponent(id))}${query}`, // spec 9
    contentType: content.body === undefined ? undefined : "application/json",
    id,
    ...content,
  };
}

/** What a method decides about its call. */
export type CallContent<Value> = Omit<
  Call<Value>,
  "operation" | "method" | "path" | "contentType" | "id"
> & { query?: string };

/** Shared by all clients, so that a listener of several clients can distinguish their calls. */
let lastCallId = 0;

/**
 * Sends a request until it succeeds, cannot be retried, or no retry or time is left.
 * @throws {IssuingError}; the `reason` of the caller's signal.
 */
export async function send<Value>(call: Call<Value>, settings: CallSettings): Promise<Value> {
  const { operation, idempotencyKey } = call;
  const { clock, signal, onEvent, onResponse, service } = settings;
  const callId = ++lastCallId;
  const startedAtMs = clock.monotonicMs();
  const getDurationMs = () => Math.round(clock.monotonicMs() - startedAtMs);
  const emit = (event: CallEvent) =>
    onEvent &&
    notify(onEvent, { callId, operation, ...event }, (error) =>
      logListenerError("issuing-client: onEvent", onEvent, error),
    );

  /** What is known of the call, also when it is aborted. */
  let state = createState(call, settings);

  /** @returns the result of the last attempt; without time for one, that the deadline passed. */
  async function attemptUntilEnd(): Promise<AttemptResult> {
    const apiKey = await getApiKey(settings);
    if (apiKey.failure !== undefined) return apiKey;
    const request = createRequest(call, settings, apiKey.value);
    let result: AttemptResult | undefined;
    while (canAttempt(settings)) {
      const attempts = state.attempts + 1;
      emit({ type: "attempt", attempt: attempts, method: call.method });
      if (!canAttempt(settings)) break; // the listener can abort the call, and use up its time
      state = { ...state, attempts };
      result = await attempt(request, operation, settings);
      const next = decideNext(state, result, clock.monotonicMs());
      state = next.state;
      if (next.end !== undefined) return result;
      const { delayMs } = next;
      emit({ type: "retry", attempt: attempts, ...getReason(result), delayMs });
      await sleep(delayMs, settings);
    }
    return result ?? exceedLimit("deadline", settings);
  }

  try {
    const { value: response, failure } = await attemptUntilEnd();
    const { attempts, outcome } = state;
    const facts = { attempts, outcome, idempotencyKey };
    if (failure !== undefined) throw toFailureError(failure, facts);
    // A card may be issued now, so what listeners do, such as an abort, has no effect any more.
    const durationMs = getDurationMs();
    if (onResponse !== undefined)
      notify(onResponse, toMeta(response, { attempts, idempotencyKey, durationMs }), (error) =>
        logListenerError("issuing-client: onResponse", onResponse, error),
      );
    const value = readValue(response, call, { facts, baseUrl: service.baseUrl });
    // The comparison parses the body again, so only a listener pays for it.
    const fieldKeys = onEvent === undefined ? [] : (call.findDifferentFields?.(value) ?? []);
    if (fieldKeys.length > 0) emit({ type: "fields-differ", fieldKeys });
    emit({ type: "response", status: response.status, attempts, durationMs });
    return value;
  } catch (error) {
    const { attempts } = state;
    emit({ ...toCallEnd(error, signal), attempts, durationMs: getDurationMs() });
    throw error;
  }
}

/** @throws the reason of the caller's signal when it has aborted. */
function canAttempt({ clock, endsAtMs, signal }: CallSettings): boolean {
  signal?.throwIfAborted();
  return endsAtMs - clock.monotonicMs() >= 1;
}

/** The result of an attempt, or of a call, when its time limit has passed. */
function exceedLimit(
  code: "deadline" | "timeout",
  { deadlineMs, timeoutMs }: CallSettings,
): { failure: AttemptFailure } {
  const message =
    code === "deadline"
      ? `The call did not succeed before its deadline (deadlineMs: ${deadlineMs}).`
      : `The service did not respond in time (timeoutMs: ${timeoutMs}).`;
  return { failure: { code, message, wasSent: true, retryable: true } };
}

/** Sends the request once, within the time limit of an attempt and the deadline. */
async function attempt(
  request: HttpRequest,
  operation: Call["operation"],
  settings: CallSettings,
): Promise<AttemptResult> {
  const { service, clock, signal, timeoutMs, endsAtMs } = settings;
  const remainingMs = endsAtMs - clock.monotonicMs();
  const { response, abort } = service.transport(request);
  const received = await waitWithin(response, {
    ms: Math.min(timeoutMs, remainingMs),
    otherwise: () => exceedLimit(remainingMs <= timeoutMs ? "deadline" : "timeout", settings),
    stop: abort,
    clock,
    signal,
  });
  if (received.failure !== undefined) return received;
  return readResponse(received.value, operation, clock.now());
}

/** Why an attempt is repeated. */
function getReason({ value, failure }: AttemptResult) {
  return failure === undefined ? { status: value.status } : { code: failure.code };
}

/**
 * Reads the value that the method returns.
 * @throws {IssuingError} for a 4xx or 5xx, and for a body that the method cannot use.
 */
function readValue<Value>(
  response: UsableResponse,
  call: Call<Value>,
  context: { facts: CallFacts; baseUrl: string },
): Value {
  if (response.status >= 400 && call.operation !== "api")
    throw toResponseError(response, call, context);
  const reading = call.read(response);
  if (reading.failure === undefined) return reading.value;
  throw toFailureError(reading.failure, { ...context.facts, requestId: getRequestId(response) });
}

/** Returns the API key. A function is called once for all attempts, within the deadline. */
async function getApiKey(settings: CallSettings): Promise<Result<string, AttemptFailure>> {
  const { apiKey, clock, signal, endsAtMs } = settings;
  if (typeof apiKey === "string") return { value: apiKey };
  if (apiKey === undefined) return notSent(describeMissing("apiKey", "LOYALTY_API_KEY"));
  const callFunction = async () => ({ value: await apiKey() });
  let called: Result<unknown, AttemptFailure>;
  try {
    called = await waitWithin<Result<unknown, AttemptFailure>>(callFunction(), {
      ms: endsAtMs - clock.monotonicMs(),
      otherwise: () => exceedLimit("deadline", settings),
      clock,
      signal,
    });
  } catch {
    signal?.throwIfAborted();
    return missKey("failed; nothing was sent."); // the function's own error is dropped: it can quote the key
  }
  if (called.failure !== undefined) return called;
  const returned = called.value ?? "";
  const isNothing = typeof returned === "string" && returned.trim() === "";
  if (isNothing) return missKey("returned nothing; nothing was sent.");
  const key = parseApiKey(returned);
  return key.failure === undefined ? key : missKey(`returned a key that ${key.failure}`);
}

/** The function has no key now. A later call may get it. */
function missKey(what: string): { failure: AttemptFailure } {
  const { failure } = notSent(`The apiKey function ${what}`);
  return { failure: { ...failure, retryable: true } };
}

/**
 * Adds the headers that every request has. They replace the caller's; its user-agent is appended.
 */
function createRequest(
  { operation, method, path, contentType, body, idempotencyKey }: Call,
  { userAgent, headers: ownHeaders }: CallSettings,
  apiKey: string,
): HttpRequest {
  const program = ownHeaders["user-agent"];
  const headers: Record<string, string> = {
    ...ownHeaders,
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

function toMeta(
  response: UsableResponse,
  facts: Omit<ResponseMeta, "status" | "headers">,
): ResponseMeta {
  const { status, header, headers } = response;
  const isReplayed = replayHeaders.some((name) => header(name)?.trim().toLowerCase() === "true");
  const requestId = getRequestId(response);
  return { ...facts, status, headers: headers(), requestId, replayed: isReplayed || undefined };
}

function toCallEnd(error: unknown, signal: AbortSignal | undefined): CallEnd {
  if (signal?.aborted === true && error === signal.reason) return { type: "abort" };
  // Another error is a mistake in the program.
  if (!(error instanceof IssuingError)) return { type: "failure", code: "configuration" };
  const { problem, code } = error;
  return problem === undefined
    ? { type: "failure", code }
    : { type: "response", status: problem.status };
}

/** The path of one operation: starts the request, waits for the result, and returns the value or throws the error. */
import { notify } from "@loyalty-cards/internal/reporting";
import type { SendForApi } from "./api.ts";
import { type AttemptFailure, type AttemptResult, type HttpResponse, isFailure } from "./attempt.ts";
import { Call } from "./call.ts";
import { type CallerOptions, parseCallOptions, type ResponseMeta } from "./call-options.ts";
import { TimeLimitError, waitWithin } from "./clock.ts";
import { copyError, deadlineError, IssuingError, ProblemError } from "./errors.ts";
import { parseIdempotencyKey } from "./idempotency.ts";
import type { Settings } from "./options.ts";
import { createProblemError, getRequestId } from "./problem-error.ts";
import { getExpectedBody, type OperationRequest, toPath, toTransportRequest } from "./request.ts";
import { sendWithRetries } from "./retry.ts";
import type { TransportRequest } from "./transport.ts";

/** The last attempt's result, or what ended the call before it had one. */
type CallResult = AttemptResult | { error: unknown };

/** A request that was started, and that several callers can wait for. */
export interface RunningCall {
  call: Call;
  request: OperationRequest;
  /** Never rejects. */
  result: Promise<CallResult>;
}

/** Returns the value of a success. @throws {IssuingError} `invalid-response`. */
export type Read<Value> = (call: Call, body: unknown, status: number) => Value;

export type Pipeline = ReturnType<typeof createPipeline>;

export function createPipeline(settings: Settings) {
  const {
    clock,
    random,
    onEvent,
    transport,
    baseUrl,
    apiKey,
    userAgent,
    limits,
    headers: ownHeaders,
  } = settings;

  async function send(call: Call, url: string, request: TransportRequest): Promise<CallResult> {
    try {
      const { headers } = request;
      for (const [name, value] of Object.entries(ownHeaders)) headers[name] ??= value;
      headers["user-agent"] = headers["user-agent"] ? `${userAgent} ${headers["user-agent"]}` : userAgent;
      // Looked up once for all attempts, within the deadline. Only this function and the transport see the key.
      const key = typeof apiKey === "string" ? apiKey : await waitForKey(apiKey, call);
      headers["authorization"] = `Bearer ${key}`; // spec 5.1
      const result = await sendWithRetries(call, url, request, { transport, random });
      if (isFailure(result)) return result;

      // The card may be issued now, so what listeners do, such as an abort, has no effect any more.
      call.hasResponse = true;
      for (const { onResponse } of call.callers) {
        if (onResponse !== undefined) notify(() => onResponse(toMeta(call, result)), undefined);
      }
      return result;
    } catch (error) {
      return { error };
    }
  }

  function waitForKey(getKey: () => Promise<string>, { signal }: Call): Promise<string> {
    return waitWithin({ clock, endsAtMs: () => Number.POSITIVE_INFINITY, signal }, getKey());
  }

  /** Starts one operation for its first caller, whose headers are sent. */
  function start(request: OperationRequest, caller: CallerOptions): RunningCall {
    const { operation, idempotencyKey } = request;
    const expectedBody = getExpectedBody(operation);
    const call = new Call({ operation, expectedBody, idempotencyKey, clock, onEvent }, caller);
    const result = send(call, baseUrl + toPath(request), toTransportRequest(request, caller.headers));
    return { call, request, result };
  }

  /** Waits for the result, for one caller. @throws {IssuingError} a new object for each caller; or the caller's `signal.reason`. */
  async function waitFor<Value>(
    { call, request, result }: RunningCall,
    caller: CallerOptions,
    read: Read<Value>,
  ): Promise<Value> {
    let settled: CallResult;
    try {
      settled = await call.waitFor(result, caller);
    } catch (error) {
      throw error instanceof TimeLimitError ? deadlineError(call) : error; // others still wait
    }
    return finish(call, settled, (response) => {
      if (response.status >= 400) throw createProblemError(call, response, request, baseUrl);
      return read(call, response.json(), response.status);
    });
  }

  /** Runs one operation for one caller. */
  const run = <Value>(request: OperationRequest, caller: CallerOptions, read: Read<Value>): Promise<Value> =>
    waitFor(start(request, caller), caller, read);

  /** Sends a request of `client.api`. Every POST has an idempotency key, because it could not be retried without one. */
  const sendForApi: SendForApi = async (url, request, { signal, expectedBody }) => {
    const { method, headers } = request;
    let idempotencyKey: string | undefined;
    if (method === "POST") {
      const key = headers["idempotency-key"];
      idempotencyKey = key === undefined ? crypto.randomUUID() : parseIdempotencyKey(key);
      headers["idempotency-key"] = idempotencyKey;
    }
    const caller = parseCallOptions({ signal }, limits, clock);
    const call = new Call({ operation: "api", expectedBody, idempotencyKey, clock, onEvent }, caller);
    return finish(call, await call.waitFor(send(call, url, request), caller), (response) => response);
  };

  return { start, waitFor, run, sendForApi };
}

/** Ends a call. It runs for each caller in the caller's own stack, so that the stack of an error shows where the method was called. */
function finish<Value>(call: Call, result: CallResult, read: (response: HttpResponse) => Value): Value {
  try {
    if ("error" in result) throw toCallerError(call, result.error);
    if (isFailure(result)) throw toFailureError(call, result);
    const value = read(result);
    call.notifyEnd({ type: "response", status: result.status });
    return value;
  } catch (error) {
    if (call.signal.aborted && error === call.signal.reason) call.notifyEnd({ type: "abort" });
    else if (error instanceof ProblemError) call.notifyEnd({ type: "response", status: error.status });
    else if (error instanceof IssuingError) call.notifyEnd({ type: "failure", code: error.code });
    else call.notifyEnd({ type: "abort" });
    throw error;
  }
}

function toCallerError(call: Call, error: unknown): unknown {
  if (error instanceof TimeLimitError) return deadlineError(call);
  // The reason of an abort is thrown as it is, even when it is an error of another call.
  return error instanceof IssuingError && error !== call.signal.reason ? copyError(error) : error;
}

function toFailureError(call: Call, { code, message, retryable, networkCode }: AttemptFailure): IssuingError {
  if (code === "timeout" && call.isOver()) return deadlineError(call);
  const cause = networkCode && Object.assign(new Error(networkCode), { code: networkCode });
  return call.error(message, { code, retryable, outcome: call.outcome, cause });
}

/** The specification names no header for a replay; these two are common. */
const replayHeaders = ["idempotent-replayed", "idempotency-replayed"];

/** Creates a new object for each caller. */
function toMeta(call: Call, { status, head }: HttpResponse): ResponseMeta {
  const { attempts, idempotencyKey, durationMs } = call;
  const requestId = getRequestId(head);
  const isReplayed = replayHeaders.some((name) => head.header(name)?.trim().toLowerCase() === "true");
  return {
    status,
    headers: new Headers(head.headers()),
    attempts,
    durationMs,
    ...(requestId !== undefined && { requestId }),
    ...(isReplayed && { replayed: true }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

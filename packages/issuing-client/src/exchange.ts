/** Carries a call to the service and back: the key, the retries, the answer or the error. */
import type { SendForApi } from "./api.ts";
import { attempting } from "./attempt.ts";
import { AttemptFailure } from "./attempt-failure.ts";
import {
  Call,
  type Caller,
  type CallOptions,
  checkedObject,
  checkedTimes,
  type ResponseMeta,
} from "./call.ts";
import type { OperationName } from "./client-event.ts";
import { TimeUp, within } from "./clock.ts";
import { deprecationsTold } from "./deprecation.ts";
import { configurationError, copyOf, IssuingError, ProblemError } from "./errors.ts";
import { checkedIdempotencyKey, randomIdempotencyKey } from "./idempotency.ts";
import { tell } from "./listener.ts";
import type { Settings } from "./options.ts";
import { refusal } from "./refusal.ts";
import { checkedHeaders, type OperationRequest, outgoing, pathOf } from "./request.ts";
import { requestIdOf } from "./request-id.ts";
import { type Result, retrying } from "./retry.ts";
import { retryBudget } from "./retry-budget.ts";
import type { OutgoingRequest } from "./transport.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/** A request that may have several callers. */
export interface Running<Value> {
  /**
   * Waits for the end until the caller's own deadline.
   * @returns what makes a value of the caller's own, or throws an error of its own. Call it where the caller waits: the stack of an error
   * made anywhere else does not name the caller.
   * @throws the caller's `signal.reason`.
   */
  wait(caller: Caller): Promise<() => Value>;
  /** Whether everybody has left. */
  isStopped(): boolean;
  /** Resolves when there is nothing to wait for any more. */
  ended: Promise<unknown>;
}

export interface Exchange {
  /** A caller that begins to wait now. @throws {IssuingError} `configuration`, and the `signal.reason` of one that has aborted already. */
  createCaller(options: CallOptions): Caller;
  /** Starts one operation on behalf of its first caller. @param headers that caller's, checked. */
  start<Value>(
    request: OperationRequest,
    headers: Record<string, string>,
    caller: Caller,
    read: (call: Call, data: unknown) => Value,
  ): Running<Value>;
  /** Runs one operation for one caller. */
  run<Value>(
    request: OperationRequest,
    options: CallOptions | undefined,
    read: (call: Call, data: unknown) => Value,
  ): Promise<Value>;
  /** Sends a request of `client.api`. */
  sendForApi: SendForApi;
}

/** Of all clients, so that who listens to several can tell their calls apart. */
let calls = 0;

export function createExchange(settings: Settings): Exchange {
  const { clock, random, onEvent, transport, baseUrl, apiKey, userAgent, times } = settings;
  const send = retrying(attempting(transport), retryBudget(clock), random);
  const noteDeprecation = onEvent === undefined ? () => {} : deprecationsTold();

  function createCaller(options: CallOptions): Caller {
    const { signal, onResponse } = options;
    if (signal && typeof signal.throwIfAborted !== "function")
      throw configurationError("signal must be an AbortSignal.");
    const { timeoutMs, deadlineMs, maxRetries } = checkedTimes(options, times);
    signal?.throwIfAborted();
    const endsAtMs = clock.monotonicMs() + deadlineMs;
    return {
      signal: signal ?? undefined,
      endsAtMs,
      timeoutMs,
      maxRetries,
      onResponse: onResponse ?? undefined,
    };
  }

  function createCall(operation: OperationName, idempotencyKey: string | undefined, caller: Caller): Call {
    return new Call({ call: ++calls, operation, idempotencyKey, clock, onEvent }, caller);
  }

  /** Adds the user agent, and the API key here, so that nothing above this point ever holds it. @param request of this call alone: its headers are written to. */
  function sendWithKey(call: Call, url: string, request: OutgoingRequest): Promise<Result> {
    const { "user-agent": callers } = request.headers;
    request.headers["user-agent"] = callers ? `${userAgent} ${callers}` : userAgent;
    const sendWith = (key: string) => {
      request.headers["authorization"] = `Bearer ${key}`; // spec 5.1
      return send(call, url, request);
    };
    // Once found it is one key for all attempts.
    return typeof apiKey === "string" ? sendWith(apiKey) : foundInTime(apiKey, call).then(sendWith);
  }

  /**
   * Sends until there is a result, and tells the callers of that moment about it.
   * @param conclude makes a caller's value of the answer, or throws; called once for each caller.
   * @returns what gives a caller its own value or throws its own error. It never rejects.
   */
  async function end<Value>(
    call: Call,
    url: string,
    request: OutgoingRequest,
    conclude: (answer: WholeAnswer) => Value,
  ): Promise<() => Value> {
    let answer: WholeAnswer | undefined;
    let conclusion: () => Value;
    try {
      const result = await sendWithKey(call, url, request);
      if (result instanceof AttemptFailure) {
        conclusion = () => {
          throw errorOf(call, result);
        };
      } else {
        answer = result;
        conclusion = () => conclude(result);
        noteDeprecation(call, result.head);
        for (const { onResponse } of call.callers) {
          if (onResponse !== undefined) tell(onResponse, metaOf(call, result));
        }
        const { aborted, reason } = call.signal;
        if (aborted && !(reason instanceof TimeUp)) throw reason; // by one of those listeners
      }
    } catch (error) {
      conclusion = () => {
        if (error instanceof TimeUp) throw call.deadlineError();
        throw error instanceof IssuingError ? copyOf(error) : error;
      };
    }
    let isTold = false;
    return () => {
      try {
        const value = conclusion();
        if (!isTold) tellResponse(call, answer?.status ?? 0);
        return value;
      } catch (error) {
        if (!isTold) tellFailure(call, error);
        throw error;
      } finally {
        isTold = true;
      }
    };
  }

  function start<Value>(
    request: OperationRequest,
    headers: Record<string, string>,
    caller: Caller,
    read: (call: Call, data: unknown) => Value,
  ): Running<Value> {
    const call = createCall(request.operation, request.idempotencyKey, caller);
    const ended = end(call, baseUrl + pathOf(request), outgoing(request, headers), (answer) => {
      if (answer.status >= 400) throw refusal(call, answer, request);
      return read(call, answer.data());
    });
    return {
      wait: (caller) => call.waitFor(ended, caller),
      isStopped: () => call.signal.aborted,
      ended,
    };
  }

  return {
    createCaller,
    start,

    async run(request, given, read) {
      const options = checkedObject("options", given);
      const caller = createCaller(options);
      const make = await start(request, checkedHeaders(options.headers), caller, read).wait(caller);
      return make();
    },

    /** Keeps the rule that every POST has a key: without one it could not be repeated safely. */
    async sendForApi(url, request, signal) {
      const { method, headers } = request;
      const key = method === "POST" ? keyForApi(headers["idempotency-key"]) : undefined;
      if (key !== undefined) headers["idempotency-key"] = key;
      const caller = createCaller({ signal });
      const call = createCall("api", key, caller);
      const ended = end(call, url, request, (answer) => answer);
      const make = await call.waitFor(ended, caller);
      return make();
    },
  };
}

const keyForApi = (given: string | undefined) =>
  given === undefined ? randomIdempotencyKey() : checkedIdempotencyKey(given);

function errorOf(call: Call, failure: AttemptFailure): IssuingError {
  const { code, retryable, message, networkCode } = failure;
  if (code === "timeout" && call.isOver()) return call.deadlineError();
  const cause =
    networkCode === undefined ? undefined : Object.assign(new Error(networkCode), { code: networkCode });
  return call.error(message, { code, retryable, outcome: call.outcome, cause });
}

function tellResponse(call: Call, status: number): void {
  const { attempts } = call;
  call.tell(() => ({ type: "response", attempts, status, durationMs: call.durationMs() }));
}

function tellFailure(call: Call, error: unknown): void {
  const { attempts } = call;
  const durationMs = call.durationMs();
  if (error instanceof ProblemError) {
    tellResponse(call, error.status);
  } else if (error instanceof IssuingError) {
    call.tell(() => ({ type: "failure", attempts, code: error.code, durationMs }));
  } else if (attempts > 0) {
    call.tell(() => ({ type: "abort", attempts, durationMs }));
  }
}

/** Finding the key counts into the call's time. */
function foundInTime(apiKey: () => Promise<string>, { clock, signal }: Call): Promise<string> {
  return within({ clock, endsAtMs: () => Number.POSITIVE_INFINITY, signal }, apiKey());
}

/** For one caller alone. */
function metaOf(call: Call, { status, head }: WholeAnswer): ResponseMeta {
  const { attempts, idempotencyKey } = call;
  const requestId = requestIdOf(head);
  return {
    status,
    headers: new Headers(head.headers()),
    attempts,
    durationMs: call.durationMs(),
    ...(requestId !== undefined && { requestId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

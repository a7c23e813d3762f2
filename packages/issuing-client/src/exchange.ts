/** Carries a call to the service and back: the key, the retries, the answer or the error. */
import { attempting, type OutgoingRequest } from "./attempt.ts";
import { Call, type CallOptions, checkedTimes } from "./call.ts";
import type { OperationName } from "./client-event.ts";
import { TimeUp, within } from "./clock.ts";
import { deprecationsTold } from "./deprecation.ts";
import { IssuingError } from "./errors.ts";
import { checkedIdempotencyKey, randomIdempotencyKey } from "./idempotency.ts";
import { tell } from "./listener.ts";
import type { Settings } from "./options.ts";
import { refusal } from "./refusal.ts";
import { checkedHeaders, type OperationRequest, outgoing, pathOf } from "./request.ts";
import { requestIdOf } from "./request-id.ts";
import { retrying } from "./retry.ts";
import { retryBudget } from "./retry-budget.ts";
import type { SendForApi } from "./transport.ts";
import type { WholeAnswer } from "./whole-answer.ts";

export interface Exchange {
  /** Runs one operation, and reads its answer or throws what the answer says. */
  run<Answer>(
    request: OperationRequest,
    callOptions: CallOptions,
    read: (call: Call, data: unknown) => Answer,
  ): Promise<Answer>;
  sendForApi: SendForApi;
}

export function createExchange(settings: Settings): Exchange {
  const { clock, random, onEvent, fetch, baseUrl } = settings;
  const budget = retryBudget(clock);
  const noteDeprecation = deprecationsTold();

  function start(operation: OperationName, options: CallOptions, idempotencyKey: string | undefined): Call {
    const times = checkedTimes(options, settings.times);
    return new Call({
      operation,
      idempotencyKey,
      signal: options.signal,
      times,
      clock,
      random,
      budget,
      onEvent,
    });
  }

  /** Sends until there is an answer. The API key is added here, so that nothing above this point ever holds it. */
  async function answered(call: Call, url: string, request: OutgoingRequest): Promise<WholeAnswer> {
    const { operation } = call;
    try {
      call.signal?.throwIfAborted();
      const authorization = `Bearer ${await apiKeyInTime(settings, call)}`; // spec 5.1
      const headers = { ...request.headers, authorization };
      const answer = await retrying(attempting(fetch, call), call)(url, { ...request, headers });
      const { status } = answer;
      call.tell({
        type: "response",
        operation,
        attempts: call.attempts,
        status,
        durationMs: call.durationMs(),
      });
      noteDeprecation(call, answer.headers);
      return answer;
    } catch (error) {
      if (error instanceof IssuingError) tellFailure(call, error);
      throw error;
    }
  }

  return {
    async run(request, callOptions, read) {
      const call = start(request.operation, callOptions, request.idempotencyKey);
      const sent = outgoing(request, checkedHeaders(callOptions.headers));
      const answer = await answered(call, baseUrl + pathOf(request), sent);
      tell(callOptions.onResponse, metaOf(call, answer));
      if (answer.status >= 400) throw refusal(call, answer);
      try {
        return read(call, answer.data);
      } catch (error) {
        if (error instanceof IssuingError) tellFailure(call, error);
        throw error;
      }
    },

    /** Keeps the rule that every POST has a key: without one it could not be repeated safely. */
    async sendForApi(url, request, signal) {
      const { method, headers } = request;
      const given = headers["idempotency-key"];
      const key =
        method !== "POST"
          ? undefined
          : given === undefined
            ? randomIdempotencyKey()
            : checkedIdempotencyKey(given);
      const keyed =
        key === undefined ? request : { ...request, headers: { ...headers, "idempotency-key": key } };
      return answered(start("api", { signal }, key), url, keyed);
    },
  };
}

function tellFailure(call: Call, { code }: IssuingError): void {
  const { operation, attempts } = call;
  call.tell({ type: "failure", operation, attempts, code, durationMs: call.durationMs() });
}

/** Finding the key counts into the call's time; once found it is one key for all attempts. */
async function apiKeyInTime({ apiKey, clock }: Settings, call: Call): Promise<string> {
  if (typeof apiKey === "string") return apiKey;
  try {
    return await within({ clock, ms: call.remainingMs(), signal: call.signal }, apiKey());
  } catch (error) {
    throw error instanceof TimeUp ? call.deadlineError() : error;
  }
}

function metaOf(call: Call, { status, headers }: WholeAnswer) {
  const { attempts, idempotencyKey } = call;
  const requestId = requestIdOf(headers);
  return {
    status,
    headers,
    attempts,
    durationMs: call.durationMs(),
    ...(requestId !== undefined && { requestId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

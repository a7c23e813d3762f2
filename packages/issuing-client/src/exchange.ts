/** Carries a call to the service and back: the key, the retries, the answer or the error. */
import type { SendForApi } from "./api.ts";
import { attempting } from "./attempt.ts";
import { Call, type CallOptions, checkedTimes } from "./call.ts";
import type { OperationName } from "./client-event.ts";
import { TimeUp, within } from "./clock.ts";
import { deprecationsTold } from "./deprecation.ts";
import { IssuingError, ProblemError } from "./errors.ts";
import { checkedIdempotencyKey, randomIdempotencyKey } from "./idempotency.ts";
import { tell } from "./listener.ts";
import type { Settings } from "./options.ts";
import { refusal } from "./refusal.ts";
import { checkedHeaders, type OperationRequest, outgoing, pathOf } from "./request.ts";
import { requestIdOf } from "./request-id.ts";
import { retrying } from "./retry.ts";
import { retryBudget } from "./retry-budget.ts";
import type { OutgoingRequest } from "./transport.ts";
import type { WholeAnswer } from "./whole-answer.ts";

type Listener = Pick<CallOptions, "onResponse">;

export interface Exchange {
  /**
   * Runs one operation, and reads its answer or throws what the answer says.
   * @param listeners who is told about the answer; they may be more by the time it comes.
   */
  run<Answer>(
    request: OperationRequest,
    callOptions: CallOptions,
    read: (call: Call, data: unknown) => Answer,
    listeners?: Iterable<Listener>,
  ): Promise<Answer>;
  sendForApi: SendForApi;
}

/** Of all clients, so that who listens to several can tell their calls apart. */
let calls = 0;

export function createExchange(settings: Settings): Exchange {
  const { clock, random, onEvent, transport, baseUrl } = settings;
  const send = retrying(attempting(transport), retryBudget(clock), random);
  const noteDeprecation = onEvent === undefined ? () => {} : deprecationsTold();
  function start(operation: OperationName, options: CallOptions, idempotencyKey: string | undefined): Call {
    const times = checkedTimes(options, settings.times);
    const { signal } = options;
    return new Call({ call: ++calls, operation, idempotencyKey, signal, times, clock, onEvent });
  }

  /**
   * Sends until there is an answer. The API key is added here, so that nothing above this point ever holds it.
   * @param request of this call alone: its headers are written to.
   */
  function answered(call: Call, url: string, request: OutgoingRequest): Promise<WholeAnswer> {
    call.signal?.throwIfAborted();
    const sendBy = (apiKey: string) => {
      request.headers["authorization"] = `Bearer ${apiKey}`; // spec 5.1
      return send(call, url, request);
    };
    const { apiKey } = settings;
    return typeof apiKey === "string" ? sendBy(apiKey) : apiKeyInTime(apiKey, call).then(sendBy);
  }

  return {
    async run(request, callOptions, read, listeners = [callOptions]) {
      const call = start(request.operation, callOptions, request.idempotencyKey);
      const sent = outgoing(request, checkedHeaders(callOptions.headers));
      try {
        const answer = await answered(call, baseUrl + pathOf(request), sent);
        noteDeprecation(call, answer.head);
        for (const { onResponse } of listeners) {
          if (onResponse !== undefined) tell(onResponse, metaOf(call, answer));
        }
        if (answer.status >= 400) throw refusal(call, answer);
        const given = read(call, answer.data);
        tellResponse(call, answer.status);
        return given;
      } catch (error) {
        tellFailure(call, error);
        throw error;
      }
    },

    /** Keeps the rule that every POST has a key: without one it could not be repeated safely. */
    async sendForApi(url, request, signal) {
      const { method, headers } = request;
      const key = method === "POST" ? keyForApi(headers["idempotency-key"]) : undefined;
      if (key !== undefined) headers["idempotency-key"] = key;
      const call = start("api", { signal }, key);
      try {
        const answer = await answered(call, url, request);
        noteDeprecation(call, answer.head);
        tellResponse(call, answer.status);
        return answer;
      } catch (error) {
        tellFailure(call, error);
        throw error;
      }
    },
  };
}

const keyForApi = (given: string | undefined) =>
  given === undefined ? randomIdempotencyKey() : checkedIdempotencyKey(given);

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

/** Finding the key counts into the call's time; once found it is one key for all attempts. */
async function apiKeyInTime(apiKey: () => Promise<string>, call: Call): Promise<string> {
  const { clock, signal } = call;
  try {
    return await within({ clock, ms: call.remainingMs(), signal }, apiKey());
  } catch (error) {
    throw error instanceof TimeUp ? call.deadlineError() : error;
  }
}

function metaOf(call: Call, { status, head }: WholeAnswer) {
  const { attempts, idempotencyKey } = call;
  const requestId = requestIdOf(head);
  return {
    status,
    headers: head.headers(),
    attempts,
    durationMs: call.durationMs(),
    ...(requestId !== undefined && { requestId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

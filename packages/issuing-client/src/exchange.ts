/** Carries one operation to the service and back: the key, the retries, the answer or the error. */
import { attempting, type Fetch } from "./attempt.ts";
import { type Call, type CallOptions, checkedHeaders, checkedTimes, startCall } from "./call.ts";
import type { OperationName } from "./client-event.ts";
import { TimeUp, within } from "./clock.ts";
import { deprecationsTold } from "./deprecation.ts";
import { IssuingError, ProblemError } from "./errors.ts";
import { randomIdempotencyKey } from "./idempotency.ts";
import type { Settings } from "./options.ts";
import { refusal } from "./refusal.ts";
import { requestIdOf } from "./request-id.ts";
import { retrying } from "./retry.ts";
import { type RetryBudget, retryBudget } from "./retry-budget.ts";
import { type Api, createApi, plainly } from "./transport.ts";

export interface Exchange {
  /** The contract's client, for calls of their own. */
  api: Api;
  /** Runs one operation, and reads its answer or throws what the answer says. */
  run<Answer>(
    operation: OperationName,
    callOptions: CallOptions,
    request: (parts: RequestParts) => Promise<Reply>,
    read: (call: Call, body: unknown) => Answer,
    idempotencyKey?: string,
  ): Promise<Answer>;
}

/** What every request of a call has in common. */
export interface RequestParts {
  headers: Record<string, string>;
  signal: AbortSignal | null;
  fetch: (request: Request) => Promise<Response>;
}

interface Reply {
  data?: unknown;
  error?: unknown;
  response: Response;
}

export function createExchange(settings: Settings): Exchange {
  const budget = retryBudget(settings.clock);
  const noteDeprecation = deprecationsTold();
  const api = createApi(
    settings.baseUrl,
    withKeyOnEveryPost((init) => {
      const signal = init.signal ?? undefined;
      const idempotencyKey = new Headers(init.headers).get("idempotency-key") ?? undefined;
      return fetchOf(settings, callOf(settings, budget, "api", { signal }, idempotencyKey));
    }),
  );

  async function run<Answer>(
    operation: OperationName,
    callOptions: CallOptions,
    request: (parts: RequestParts) => Promise<Reply>,
    read: (call: Call, body: unknown) => Answer,
    idempotencyKey?: string,
  ): Promise<Answer> {
    const call = callOf(settings, budget, operation, callOptions, idempotencyKey);
    try {
      const { data, error, response } = await request({
        headers: checkedHeaders(callOptions.headers),
        signal: callOptions.signal ?? null,
        fetch: plainly(fetchOf(settings, call)),
      });
      tellAnswer(callOptions, call, response);
      noteDeprecation(call, response.headers);
      if (response.ok) return read(call, data);
      throw refusal(call, response, error);
    } catch (error) {
      if (error instanceof IssuingError && !(error instanceof ProblemError)) {
        const { attempts } = call;
        call.tell({ type: "failure", operation, attempts, code: error.code, durationMs: call.durationMs() });
      }
      throw error;
    }
  }

  return { api, run };
}

function callOf(
  settings: Settings,
  budget: RetryBudget,
  operation: OperationName,
  options: CallOptions,
  idempotencyKey?: string,
): Call {
  const { clock, random, onEvent } = settings;
  const times = checkedTimes(options, settings.times);
  return startCall({
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

/** What a request goes through on its way: the key, retries, one attempt at a time, the runtime's fetch. */
function fetchOf(settings: Settings, call: Call): Fetch {
  const attempt = attempting(settings.fetch, settings.clock, call.attemptMs);
  return authorized(retrying(attempt, call), () => keyInTime(settings, call));
}

/** Adds the API key at the last moment, so that nothing above this point ever holds it. */
function authorized(fetch: Fetch, findApiKey: () => Promise<string>): Fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${await findApiKey()}`); // spec 5.1
    headers.set("accept", "application/json, application/problem+json");
    return fetch(input, { ...init, headers });
  };
}

/** The escape hatch keeps the rule: a POST without a key gets one, because it could not be repeated safely. */
function withKeyOnEveryPost(fetchFor: (init: NonNullable<Parameters<Fetch>[1]>) => Fetch): Fetch {
  return (input, init = {}) => {
    const headers = new Headers(init.headers);
    const isUnsafe = init.method === "POST" && !headers.has("idempotency-key");
    if (isUnsafe) headers.set("idempotency-key", randomIdempotencyKey());
    const complete = { ...init, headers };
    return fetchFor(complete)(input, complete);
  };
}

/** Finding the key counts into the call's time; once found it is one key for all attempts. */
async function keyInTime({ findApiKey, clock }: Settings, call: Call): Promise<string> {
  try {
    return await within({ clock, ms: call.remainingMs(), signal: call.signal }, findApiKey());
  } catch (error) {
    if (!(error instanceof TimeUp)) throw error;
    throw call.error("The apiKey function did not give a key before the deadline.", {
      code: "deadline",
      outcome: "not-sent",
      retryable: true,
    });
  }
}

function tellAnswer({ onResponse }: CallOptions, call: Call, { status, headers }: Response): void {
  const { operation, attempts, idempotencyKey } = call;
  const durationMs = call.durationMs();
  call.tell({ type: "response", operation, attempts, status, durationMs });
  const requestId = requestIdOf(headers);
  onResponse?.({
    status,
    headers,
    attempts,
    durationMs,
    ...(requestId !== undefined && { requestId }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });
}

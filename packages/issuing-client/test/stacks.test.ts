/** Stacks: the stack of an error contains the function that called the method, and a call has few frames of the package between the method and the transport. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IssuingClient, IssuingErrorCode } from "../src/index.ts";
import { json, networkError, operationCalls, type Script, scripted, signUp, template } from "./scripted.ts";

const limit = Error.stackTraceLimit;
beforeEach(() => {
  Error.stackTraceLimit = 10; // Node's default, which the test runner raises
});
afterEach(() => {
  Error.stackTraceLimit = limit;
});

type Call = (client: IssuingClient, options?: object) => Promise<unknown>;

/** The caller, whose name must be in the stack. */
async function joinHandler(call: Call, client: IssuingClient, options?: object): Promise<unknown> {
  return await call(client, options);
}

async function catchError(call: Call, client: IssuingClient, options?: object) {
  return joinHandler(call, client, options).then(
    () => expect.unreachable("the call succeeded"),
    (error) => error,
  );
}

const methods: Record<string, Call> = {
  "issueCard with a key": (client, options) =>
    client.issueCard(template.id, signUp, { idempotencyKey: "order-1", ...options }),
  ...operationCalls,
};
const never = () => new Promise<Response>(() => {});

interface Failure {
  code: IssuingErrorCode;
  script?: Script[];
  options?: object;
  callOptions?: object;
}
const failures: Record<string, Failure> = {
  "a mistake in the options": { code: "configuration", callOptions: { timeoutMs: -1 } },
  "an apiKey function that fails": {
    code: "configuration",
    options: { apiKey: () => Promise.reject(new Error("vault")) },
  },
  "a 404": { code: "not-found", script: [json({}, 404)] },
  "a 422": { code: "validation", script: [json({}, 422)] },
  "a 503 after two retries": { code: "server", script: [503, 503, 503].map((status) => json({}, status)) },
  "a connection that fails": { code: "network", script: [1, 2, 3].map(() => networkError("ECONNRESET")) },
  "an attempt that takes too long": {
    code: "timeout",
    script: [never],
    callOptions: { timeoutMs: 20, maxRetries: 0 },
  },
  "a deadline that passes": { code: "deadline", script: [never], callOptions: { deadlineMs: 20 } },
  "a response that is not JSON": {
    code: "invalid-response",
    script: [new Response(null, { status: 302 })],
  },
};

describe.each(Object.entries(failures))("the stack after %s", (_name, failure) => {
  it.each(Object.entries(methods))("contains the caller of %s", async (_method, call) => {
    const { code, script = [], options, callOptions } = failure;
    const responses = script.map((next) => (next instanceof Response ? next.clone() : next));
    const { client } = scripted(responses, { testing: { clock: undefined }, ...options });
    const error = await catchError(call, client, callOptions);
    expect(error.code).toBe(code);
    expect(error.stack).toContain("joinHandler");
  });
});

it.each<[string, IssuingErrorCode, Call]>([
  ["an empty user id", "configuration", (client) => client.issueCard("t", signUp, { userId: "" })],
  ["no customer", "configuration", (client) => client.issueCard("t", {} as never, { userId: 1 })],
  [
    "an expired key",
    "idempotency-expired",
    (client) => client.issueCard("t", signUp, { userId: 1, firstAttemptAt: Date.UTC(2026, 0, 1) }),
  ],
])("contains the caller of issueCard in the stack after %s", async (_name, code, call) => {
  const { client } = scripted([], { testing: { clock: undefined } });
  const error = await catchError(call, client);
  expect(error.code).toBe(code);
  expect(error.stack).toContain("joinHandler");
});

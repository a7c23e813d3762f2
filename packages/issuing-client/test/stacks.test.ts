/** Stacks: the stack of an error contains the function that called the method. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { IssuingClient, IssuingErrorCode } from "../src/index.ts";
import {
  catchIssuingError,
  json,
  networkError,
  operationCalls,
  type Script,
  scripted,
  signUp,
  template,
} from "./scripted.ts";

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

async function expectCallerInStack(
  code: IssuingErrorCode,
  call: Call,
  script: Script[],
  options = {},
  callOptions = {},
) {
  const { client } = scripted(script, { testing: { clock: undefined }, ...options });
  const error = await catchIssuingError(joinHandler(call, client, callOptions));
  expect(error.code).toBe(code);
  expect(error.stack).toContain("joinHandler");
}

const methods: Record<string, Call> = {
  "issueCard with a key": (client, options) =>
    client.issueCard(template.id, signUp, { idempotencyKey: "order-1", ...options }),
  ...operationCalls,
};
const never = () => new Promise<Response>(() => {});
const three = (create: () => Script) => () => Array.from({ length: 3 }, create);

type Failure = [
  name: string,
  code: IssuingErrorCode,
  script: () => Script[],
  options?: object,
  call?: object,
];
const failures: Failure[] = [
  ["a mistake in the options", "configuration", () => [], {}, { timeoutMs: -1 }],
  [
    "an apiKey function that fails",
    "configuration",
    () => [],
    { apiKey: () => Promise.reject(new Error("vault")) },
  ],
  ["a 404", "not-found", () => [json({}, 404)]],
  ["a 422", "validation", () => [json({}, 422)]],
  ["a 503 after two retries", "server", three(() => json({}, 503))],
  ["a connection that fails", "network", three(() => networkError("ECONNRESET"))],
  ["an attempt that takes too long", "timeout", () => [never], {}, { timeoutMs: 20, maxRetries: 0 }],
  ["a deadline that passes", "deadline", () => [never], {}, { deadlineMs: 20 }],
  ["a response that is not JSON", "invalid-response", () => [new Response(null, { status: 302 })]],
];

describe.each(failures)("the stack after %s", (_name, code, script, options, callOptions) => {
  it.each(Object.entries(methods))("contains the caller of %s", async (_method, call) => {
    await expectCallerInStack(code, call, script(), options, callOptions);
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
  await expectCallerInStack(code, call, []);
});

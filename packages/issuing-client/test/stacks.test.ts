/** Stacks: the stack of an error contains the function that called the method, and a call has few frames of the package between the method and the transport. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuingClient, type IssuingClient, type IssuingErrorCode } from "../src/index.ts";
import {
  apiKey,
  card,
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

describe("the stack of a call that shares a request", () => {
  const byKey: Call = (client, options) =>
    client.issueCard(template.id, signUp, { idempotencyKey: "order-1", ...options });
  async function secondHandler(client: IssuingClient, options?: object): Promise<unknown> {
    return await byKey(client, options);
  }

  it.each([
    ["a 422", json({}, 422), "validation"],
    ["a connection that fails", networkError("ECONNRESET"), "network"],
    ["a card without an id", json({}, 201), "invalid-response"],
  ] as [string, Script, IssuingErrorCode][])(
    "contains its own caller after %s",
    async (_name, response, code) => {
      const { client, requests } = scripted([response], { maxRetries: 0 });
      const second = secondHandler(client).catch((error) => error);
      const errors = [await catchError(byKey, client), await second];
      expect(requests).toHaveLength(1);
      expect(errors.map((error) => error.code)).toEqual([code, code]);
      expect(errors[0].stack).toContain("joinHandler");
      expect(errors[1].stack).toContain("secondHandler");
    },
  );

  it("contains its own caller after its own deadline", async () => {
    let respond = (_response: Response) => {};
    const response = new Promise<Response>((resolve) => {
      respond = resolve;
    });
    const { client, requests } = scripted([() => response], { testing: { clock: undefined } });
    const second = secondHandler(client, { deadlineMs: 60_000 });
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const error = await catchError(byKey, client, { deadlineMs: 20 });
    expect(error).toMatchObject({ code: "deadline", outcome: "unknown", attempts: 1 });
    expect(error.stack).toContain("joinHandler");
    respond(json(card, 201));
    expect(await second).toMatchObject({ id: card.id });
  });

  it("contains its own caller after a mismatch", async () => {
    const { client } = scripted([json(card, 201)]);
    const first = client.issueCard("tpl_first", signUp, { idempotencyKey: "order-1" });
    const error = await catchError(
      (to) => to.issueCard("tpl_other", signUp, { idempotencyKey: "order-1" }),
      client,
    );
    expect(error.code).toBe("idempotency-mismatch");
    expect(error.stack).toContain("joinHandler");
    await first;
  });
});

describe("the path of a call", () => {
  beforeEach(() => {
    Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  });

  /** The functions of the package in the stack of each request, the transport's caller first. */
  async function recordFrames(
    call: (client: IssuingClient) => Promise<unknown>,
    statuses: readonly number[],
  ) {
    const stacks: string[][] = [];
    const responses = statuses.map((status) => json(card, status));
    const fetch = async () => {
      const frames = new Error().stack?.split("\n") ?? [];
      stacks.push(frames.filter((frame) => /\/issuing-client\/src\/(?!transport\.ts)/.test(frame)));
      return responses[stacks.length - 1] ?? json(card);
    };
    await call(
      createIssuingClient({ baseUrl: "https://cards.test", apiKey, fetch, testing: { random: () => 0 } }),
    );
    return stacks;
  }

  it.each([
    ["issueCard for a user", (client: IssuingClient) => client.issueCard(template.id, signUp, { userId: 1 })],
    [
      "issueCard with a key",
      (client: IssuingClient) => client.issueCard(template.id, signUp, { idempotencyKey: "order-1" }),
    ],
    ["getCard", (client: IssuingClient) => client.getCard("card_1")],
    ["setConsent", (client: IssuingClient) => client.setConsent("card_1", { marketing: true })],
  ])(
    "has at most six frames of the package between %s and the transport, also in a retry",
    async (_name, call) => {
      const [first = [], retry = []] = await recordFrames(call, [503, 200]);
      expect(first.length).toBeGreaterThanOrEqual(4);
      expect(first.length, first.join("\n")).toBeLessThanOrEqual(6);
      expect(retry.length, retry.join("\n")).toBeLessThanOrEqual(6);
    },
  );
});

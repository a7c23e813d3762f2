/**
 * Errors: their members and messages, what those of a 4xx or 5xx take from the response, the
 * rejected fields of a 422, and stacks.
 */
import { inspect } from "node:util";
import {
  catchIssuingError,
  issueScripted,
  json,
  networkError,
  openWebsite,
  operationCalls,
  readText,
  type Script,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type CallOptions,
  type IssuingClient,
  IssuingError,
  type IssuingErrorCode,
  isIssuingError,
  type ResponseMeta,
} from "../src/index.ts";
import { isRetryableStatus } from "../src/retry.ts";

const getRejection = (response: Response) =>
  catchIssuingError(issueScripted([response], { maxRetries: 0 }).result);
const getRejectionOf422 = (body: object) => getRejection(json(body, 422));

const general = "The loyalty service is not available right now.";

const codes: Partial<Record<IssuingErrorCode, number[]>> = {
  unauthorized: [401],
  forbidden: [403],
  "not-found": [404],
  conflict: [409, 423],
  validation: [422],
  "rate-limited": [429],
  rejected: [400, 405, 408, 418, 425],
  server: [500, 501, 503],
};

it.each(
  Object.entries(codes).flatMap(([code, statuses]) =>
    statuses.map((status) => [status, code] as const),
  ),
)(
  "maps the status %i to the code %s, and shows a general message except for a 422",
  async (status, code) => {
    const detail = "password of db is hunter2";
    const error = await getRejection(json({ detail }, status));
    const outcome = status >= 500 || status === 408 ? "unknown" : "rejected";
    const userMessage = status === 422 ? detail : general;
    const retryable = isRetryableStatus(status);
    expect(error).toMatchObject({
      status,
      code,
      retryable,
      outcome,
      userMessage,
      problem: { detail },
    });
  },
);

it("has the members of the problem details, and names only the status in its message", async () => {
  const problem = {
    type: "https://cards.test/closed",
    title: "Closed",
    detail: "hunter2",
    code: 7,
  };
  const error = await getRejection(json(problem, 503));
  expect(error.problem).toEqual({ ...problem, status: 503 });
  expect(readText(error)).toBe("The service responded 503 to issueCard.");
});

describe("an error response without problem details", () => {
  const page = { status: 502, headers: { "content-type": "text/html" } };
  it.each([
    ["an HTML page", new Response("<h1>Bad Gateway</h1>", page), {}],
    ["an empty body", new Response(null, { status: 502 }), {}],
    ["JSON without its members", json({ error: { code: "db" } }, 502), { error: { code: "db" } }],
    ["a list", json([1], 502), {}],
    ["a string", json("oops", 502), {}],
    ["members of other types", json({ type: 1, title: {}, detail: [], status: "x" }, 502), {}],
    ["a status that contradicts HTTP's", json({ status: 200 }, 502), {}],
    ["a __proto__ member", new Response('{"__proto__":{"polluted":1}}', { status: 502 }), {}],
  ])("has the type about:blank when its body is %s", async (_name, response, members) => {
    const { problem, userMessage } = await getRejection(response);
    expect(problem).toMatchObject({ type: "about:blank", status: 502, ...members });
    expect([problem?.title, problem?.detail, userMessage]).toEqual([undefined, undefined, general]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it.each([undefined, "", "  ", 7, "x".repeat(1001), "x".repeat(1000)])(
    "shows the detail of a 422 if it is a text of up to 1000 characters: %j",
    async (detail) => {
      const { userMessage } = await getRejectionOf422({ detail });
      expect(userMessage).toBe(detail === "x".repeat(1000) ? detail : "Please check your details.");
    },
  );
});

it.each<[isId: boolean, ids: string[]]>([
  [true, ["req_9", "01HQ:a/b.c+d=", "Root=1-67891233-abcdef012345678912345678", "x".repeat(128)]],
  [false, ["", "a b", "req_1, req_2", "<script>", "x".repeat(129), "\u00e9", "a;b", '"a"']],
])("has the request id in the error and in the metadata: %s for %j", async (isId, ids) => {
  for (const name of ["request-id", "x-request-id"])
    for (const id of ids) {
      const metas: ResponseMeta[] = [];
      const { client } = scripted([json({}, 404, { [name]: id })]);
      const call = client.getCard("card_1", { onResponse: (meta) => void metas.push(meta) });
      for (const { requestId } of [await catchIssuingError(call), metas[0] ?? expect.unreachable()])
        expect(requestId).toBe(isId ? id : undefined);
    }
});

describe("isIssuingError", () => {
  it("returns true for errors of another copy of the package", async () => {
    const copy = await import("../src/errors.ts?copy" as string);
    const foreign = new copy.IssuingError("x", { code: "network", outcome: "unknown" });
    expect(foreign instanceof IssuingError).toBe(false);
    expect(isIssuingError(foreign)).toBe(true);
  });

  it("returns true for the symbol that all versions share, and false for other values", () => {
    expect(isIssuingError({ [Symbol.for("@loyalty-cards/issuing-client/error")]: true })).toBe(
      true,
    );
    const named = { name: "IssuingError", code: "network" };
    for (const value of [undefined, null, "IssuingError", {}, new Error("x"), named])
      expect(isIssuingError(value)).toBe(false);
  });
});

it.each([
  ["an invalid argument", "", { code: "configuration", outcome: "not-sent", attempts: 0 }],
  ["a 404", "card_1", { code: "not-found", status: 404, outcome: "rejected", attempts: 1 }],
])("has only the documented members after %s", async (_name, id, members) => {
  const error = await catchIssuingError(scripted([json({}, 404)]).client.getCard(id));
  expect(error).toBeInstanceOf(IssuingError);
  expect({ ...error }).toStrictEqual({ name: "IssuingError", retryable: false, ...members });
  expect(["cause" in error, error.fields]).toEqual([false, []]);
});

it.each([
  ["ECONNRESET", "."],
  ["ECONNREFUSED", ": is the service running, and is this address correct?"],
  ["ENOTFOUND", ": is the service running, and is this address correct?"],
])(
  "names the runtime's error code %s when a connection fails, and what to check",
  async (code, check) => {
    const error = await catchIssuingError(
      issueScripted([networkError(code)], { maxRetries: 0 }).result,
    );
    expect(error).toMatchObject({
      code: "network",
      retryable: true,
      cause: { code, message: code },
    });
    expect(readText(error)).toBe(`The connection to https://cards.test failed (${code})${check}`);
  },
);

it.each(["ENOTFOUND", "ECONNRESET", undefined])(
  "says after %s what can be wrong when the address is that of a mock service without a port",
  async (code) => {
    const options = { baseUrl: "https://cards.mock.test", maxRetries: 0 };
    const failure = code === undefined ? new TypeError("Failed to fetch") : networkError(code);
    const error = await catchIssuingError(issueScripted([failure], options).result);
    expect(readText(error)).toBe(
      `The connection to https://cards.mock.test failed (${code ?? "no code"}): this is a mock service without a port. Either MSW does not listen or does not have its handlers, or a fault was injected; startMockServer() has a port.`,
    );
  },
);

it.each([401, 403])(
  "says in the message of a %i that the apiKey is to be checked",
  async (status) => {
    expect((await getRejection(json({}, status))).message).toMatch(/apiKey/);
  },
);

it("ends the message with the address of the error page, which the message for the user does not have", async () => {
  const { message, userMessage } = await getRejection(json({}, 404));
  expect(
    message.endsWith(" See https://loyalty-cards.github.io/loyalty-cards/errors#not-found"),
  ).toBe(true);
  expect(userMessage).not.toContain("https://loyalty-cards.github.io/");
});

describe("the message of a 404", () => {
  it("names the unknown template or card", async () => {
    const { client, service } = openWebsite();
    const noTemplate = client.issueCard("tpl_typo", signUp, { userId: 1 });
    expect(readText(await catchIssuingError(noTemplate))).toBe(
      `The service responded 404 to issueCard: template "tpl_typo" does not exist or is archived. Copy the id of a template from the service's console at ${service.baseUrl}.`,
    );
    const { issueCard: _, ...calls } = operationCalls;
    for (const [name, call] of Object.entries(calls)) {
      expect(readText(await catchIssuingError(call(client)))).toBe(
        `The service responded 404 to ${name}: card "card_1" does not exist. Is it a card of the service at ${service.baseUrl}?`,
      );
    }
  });

  it("names the path of baseUrl, which can be that of the console", async () => {
    const baseUrl = "https://cards.test/console";
    const { client } = scripted([json({}, 404)], { baseUrl });
    const { message } = await catchIssuingError(client.getCard("card_1"));
    expect(message).toContain(
      'baseUrl (LOYALTY_URL) has the path /console, which must be one of the service, not of its console. Or card "card_1" does not exist.',
    );
  });

  it("asks for the address when another server sent it", async () => {
    const { client } = scripted([json({}, 404)]);
    const { message } = await catchIssuingError(client.getCard("card_1"));
    expect(message).toContain('404 to getCard: is baseUrl (LOYALTY_URL) correct? Or card "card_1"');
    for (const details of [{ title: "Not Found" }, { detail: "No such card." }]) {
      const ofService = scripted([json(details, 404)]).client.getCard("card_1");
      expect((await catchIssuingError(ofService)).message).toContain(
        '404 to getCard: card "card_1"',
      );
    }
  });

  it("is one short line for any id", async () => {
    const { client } = scripted([json({}, 404)]);
    const { message } = await catchIssuingError(client.getCard(`a\nb"${"x".repeat(10_000)}`));
    expect(message).toContain('card "a\\nb\\"xxx');
    expect(message).not.toContain("\n");
    expect(message.length).toBeLessThan(330);
  });
});

describe("a 422 of the service", () => {
  it("has its members in problem, lists the rejected fields with a sentence for each, and names them in the message", async () => {
    const { client } = openWebsite();
    const customer = { ...signUp.customer, phone: "12", email: "anna at example" };
    const error = await catchIssuingError(
      client.issueCard(template.id, { fieldValues: {}, customer }, { userId: 1 }),
    );
    const fields = [
      { pointer: "/fieldValues/name", detail: "Name is required." },
      { pointer: "/customer/phone", detail: expect.any(String) },
      { pointer: "/customer/email", detail: expect.any(String) },
    ];
    expect(error.fields).toEqual(fields);
    expect(error).toMatchObject({
      code: "validation",
      status: 422,
      outcome: "rejected",
      retryable: false,
      problem: { type: "about:blank", title: "Unprocessable Content", status: 422, errors: fields },
    });
    expect(error.userMessage).toBe(
      "Name is required. The phone number is not valid. The email address is not valid.",
    );
    expect(readText(error)).toBe(
      "The service responded 422 to issueCard: /fieldValues/name, /customer/phone, /customer/email.",
    );
  });

  it("reads pointers in the form of a URI fragment, as RFC 9457 writes them", async () => {
    const errors = [{ pointer: "#/fieldValues/imi%C4%99", detail: "Please fill in the name." }];
    const error = await getRejectionOf422({ errors, detail: "The name is missing." });
    expect(error.fields).toEqual([
      { pointer: "/fieldValues/imię", detail: "Please fill in the name." },
    ]);
    expect(error.message).toContain(": /fieldValues/imię. See ");
    const { fields } = await getRejectionOf422({ errors: [{ pointer: "" }, { pointer: "#" }] });
    expect(fields).toStrictEqual([{ pointer: "" }, { pointer: "" }]); // the whole body
  });

  it.each([
    "/customer",
    "/customer/consents",
    "/customer/consents/marketing",
    "/customer/consents/marketing/version",
    "/customer/consents/privacy",
    "/customer/consents/privacy/version",
    "/customer/email",
    "/customer/name",
    "/customer/phone",
    "/fieldValues",
    "/marketing",
    "/version",
  ])("names %s in the message, because the contract has it", async (pointer) => {
    const error = await getRejectionOf422({ errors: [{ pointer }] });
    expect(readText(error)).toBe(`The service responded 422 to issueCard: ${pointer}.`);
  });

  it.each([
    ["no errors", {}],
    ["errors that are not a list", { errors: "phone" }],
    ["an object of errors", { errors: { phone: ["is wrong"] } }],
    [
      "entries without a valid pointer",
      { errors: [null, 7, "phone", [], { pointer: 7 }, { detail: "x" }] },
    ],
    [
      "strings that are not pointers",
      { errors: ["phone", "#%", "#x"].map((pointer) => ({ pointer })) },
    ],
  ])("has no fields when its body has %s", async (_name, body) => {
    const error = await getRejectionOf422(body);
    expect(error.fields).toEqual([]);
    expect(readText(error)).toBe(
      "The service responded 422 to issueCard: the response has no detail that says what to correct.",
    );
  });

  it.each([
    ["none", {}],
    ["a blank one", { detail: " " }],
    ["one that is not text", { detail: { phone: "is wrong" } }],
    ["a page", { detail: "x".repeat(1_001) }],
  ])("does not refer to userMessage when its detail is %s", async (_name, members) => {
    const error = await getRejectionOf422({ errors: [{ pointer: "/customer/phone" }], ...members });
    expect(readText(error)).toBe("The service responded 422 to issueCard: /customer/phone.");
  });

  it("says that the detail has the reason when no field is named", async () => {
    expect(readText(await getRejectionOf422({ detail: "The form has expired." }))).toBe(
      "The service responded 422 to issueCard: the detail of the response says what to correct.",
    );
  });

  it("keeps at most 50 fields, and names at most 10 in the message", async () => {
    const errors = Array.from({ length: 5_000 }, (_, index) => ({
      pointer: `/fieldValues/f${index}`,
    }));
    const { fields, message } = await getRejectionOf422({ errors });
    expect(fields).toHaveLength(50);
    expect(message.match(/\/fieldValues\//g)).toHaveLength(10);
  });

  it("leaves out a detail that is blank, too long or not text", async () => {
    const details = ["  ", "x".repeat(1_001), 7, "x".repeat(1_000)];
    const errors = details.map((detail) => ({ pointer: "/customer/phone", detail }));
    const { fields } = await getRejectionOf422({ errors });
    expect(fields.map(({ detail }) => detail)).toEqual([
      undefined,
      undefined,
      undefined,
      details[3],
    ]);
  });

  it("prints no values when the pointers of the service contain values", async () => {
    const values = [
      "/customer/+48600100200",
      "/customer/48600100200",
      "/fieldValues/Anna",
      "/Anna/fieldValues/name",
      "/Anna",
    ];
    const pointers = [...values, "/fieldValues/name"];
    const error = await getRejectionOf422({
      errors: pointers.map((pointer) => ({ pointer, detail: "Anna, +48600100200" })),
    });
    expect(error.fields).toHaveLength(pointers.length);
    const printed = inspect(error) + JSON.stringify(error) + error.stack;
    expect(printed).toContain(": /fieldValues/name.");
    expect(printed).not.toMatch(/Anna|48600100200/);
  });
});

it("sets fields to an empty list in the error of another status", async () => {
  const error = await getRejection(json({ errors: [{ pointer: "/customer/phone" }] }, 503));
  expect(error.fields).toEqual([]);
});

describe("the stack of an error", () => {
  beforeEach(() => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 10; // Node's default, which the test runner raises
    return () => {
      Error.stackTraceLimit = limit;
    };
  });

  /** The caller, whose name must be in the stack. */
  async function joinHandler(
    call: (typeof calls)[number],
    client: IssuingClient,
    options: CallOptions,
  ) {
    return await call(client, options);
  }

  const calls = Object.values(operationCalls);
  const [issue] = calls;
  const never = () => new Promise<Response>(() => {});
  const three = (create: () => Script) => () => Array.from({ length: 3 }, create);
  const noKey = { apiKey: () => Promise.reject(new Error("vault")) };

  it.each<[string, IssuingErrorCode, () => Script[], CallOptions?, object?]>([
    ["a mistake in the options", "configuration", () => [], { timeoutMs: -1 }],
    ["an apiKey function that fails", "configuration", () => [], {}, noKey],
    ["a 404", "not-found", () => [json({}, 404)]],
    ["a 422", "validation", () => [json({}, 422)]],
    ["a 503 after two retries", "server", three(() => json({}, 503))],
    ["a connection that fails", "network", three(() => networkError("ECONNRESET"))],
    ["an attempt that takes too long", "timeout", () => [never], { timeoutMs: 20, maxRetries: 0 }],
    ["a deadline that passes", "deadline", () => [never], { deadlineMs: 20 }],
    [
      "a response that is not JSON",
      "invalid-response",
      () => [new Response(null, { status: 302 })],
    ],
  ])(
    "contains the caller of each method after %s",
    async (_name, code, script, callOptions = {}, options = {}) => {
      for (const call of calls) {
        const { client } = scripted(script(), { testing: { clock: undefined }, ...options });
        const error = await catchIssuingError(joinHandler(call, client, callOptions));
        expect(error.code).toBe(code);
        expect(error.stack).toContain("joinHandler");
      }
    },
  );

  it.each<[IssuingErrorCode, object]>([
    ["configuration", { userId: "" }],
    ["idempotency-expired", { firstAttemptAt: Date.UTC(2026, 0, 1) }],
  ])("contains the caller of issueCard after %s: %o", async (code, options) => {
    const { client } = scripted([], { testing: { clock: undefined } });
    const error = await catchIssuingError(
      joinHandler(issue ?? expect.unreachable(), client, options),
    );
    expect(error.code).toBe(code);
    expect(error.stack).toContain("joinHandler");
  });
});

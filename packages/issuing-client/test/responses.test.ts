/**
 * Bodies of successes: HTML, other charsets, none, and values of unexpected types. Through every
 * method and `client.api`.
 */

import {
  anySuccess,
  card,
  catchIssuingError,
  json,
  operationCalls,
  readText,
  scripted,
  signUp,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it } from "vitest";
import { createIssuingClient, type IssuingClient } from "../src/index.ts";

const page = "<!doctype html><title>Log in</title>";
const body = (text: string | Uint8Array | null, type?: string, status = 200) =>
  new Response(text as string | null, {
    status,
    headers: type === undefined ? {} : { "content-type": type },
  });
const params = { path: { id: "card_1" } };
/** A path and method that the contract does not have. */
const callApi = (client: IssuingClient, method: string, init: object = {}) =>
  (
    client.api as unknown as Record<
      string,
      (path: string, init: object) => Promise<{ data?: unknown }>
    >
  )[method]?.("/passes/{id}", { params, ...init });

const calls: Record<string, (client: IssuingClient) => Promise<unknown>> = {
  ...operationCalls,
  "client.api.GET": (client) => client.api.GET("/passes/{id}", { params }),
  "client.api.PUT": (client) =>
    client.api.PUT("/passes/{id}/consent", { params, body: { marketing: false } }),
  "client.api.GET as text": (client) => client.api.GET("/passes/{id}", { params, parseAs: "text" }),
};

describe.each(Object.entries(calls))("%s", (_name, call) => {
  it.each([
    ["an HTML page", () => body(page, "text/html; charset=utf-8")],
    [
      "an HTML page after a comment",
      () => body(`\n <!-- proxy -->\n<!DOCTYPE  html>`, "application/json"),
    ],
    ["an HTML page that says that it is JSON", () => body(page, "application/json")],
    ["an HTML page without a content type", () => body(new TextEncoder().encode(page))],
    ["an HTML fragment", () => body("<p>Log in</p>", "text/html")],
  ])("fails with %s", async (_page, respond) => {
    const { client, requests } = scripted([respond(), respond(), respond()]);
    const error = await catchIssuingError(call(client));
    expect(error).toMatchObject({ code: "invalid-response", outcome: "unknown", retryable: true });
    expect(error.message).toContain(
      "an HTML page. Is baseUrl (LOYALTY_URL) the address of the service?",
    );
    expect(requests).toHaveLength(3);
  });

  it.each(["iso-8859-1", "windows-1250", '"UTF-16LE"'])(
    "fails with a body in the charset %s that is not ASCII, instead of returning wrong letters",
    async (charset) => {
      const text = JSON.stringify({ ...anySuccess, customerId: "\u017b" });
      const { client } = scripted([body(text, `application/json; charset=${charset}`)]);
      const error = await catchIssuingError(call(client));
      expect(error).toMatchObject({
        code: "invalid-response",
        outcome: "unknown",
        retryable: false,
      });
      expect(error.message).toContain("a body whose charset is not UTF-8");
    },
  );

  it.each(["iso-8859-1", "utf-8", "UTF8", '"utf-8"', "us-ascii"])(
    "accepts ASCII in the charset %s, because it is the same text in UTF-8",
    async (charset) => {
      const text = JSON.stringify(anySuccess);
      const { client } = scripted([body(text, `application/json;charset=${charset}`)]);
      await call(client);
    },
  );
});

it.each([
  "application/json",
  "application/json; charset=utf-8",
  'application/json;charset = "UTF-8"',
  "application/json ;  charset=utf8",
])("reads letters that are not ASCII when the type is %s", async (type) => {
  const value = { ...card, customerId: "\u017b" };
  const encoded = body(new TextEncoder().encode(JSON.stringify(value)), type);
  expect(await scripted([encoded]).client.getCard("card_1")).toEqual(value);
});

it("reads JSON after a byte order mark, which other programs write", async () => {
  const text = `\ufeff${JSON.stringify(card)}`;
  const { client } = scripted([body(new TextEncoder().encode(text), "application/json")]);
  expect(await client.getCard("card_1")).toEqual(card);
});

it.each([
  [
    300,
    "",
    "a redirect, which is not followed. Is baseUrl (LOYALTY_URL) the address of the service?",
  ],
  [
    399,
    "",
    "a redirect, which is not followed. Is baseUrl (LOYALTY_URL) the address of the service?",
  ],
  [600, "{}", "the invalid status 600."],
  [200, "OK", "a body that is not JSON."],
])("says what is wrong with a %i whose body is %j", async (status, text, what) => {
  const response = {
    type: "default",
    status,
    headers: new Headers(),
    body: null,
    text: async () => text,
  };
  const { client } = scripted([response as unknown as Response], { maxRetries: 0 });
  const error = await catchIssuingError(client.getCard("card_1"));
  expect(readText(error)).toBe(`The service responded with ${what}`);
});

it("does not show the detail of a 422 whose charset is not UTF-8", async () => {
  const problem = body(
    '{"detail":"Z\u0142y numer"}',
    "application/problem+json; charset=iso-8859-2",
    422,
  );
  const error = await catchIssuingError(
    scripted([problem]).client.issueCard("t", signUp, { userId: 1 }),
  );
  expect(error).toMatchObject({ code: "validation", outcome: "rejected" });
  expect(error.userMessage).not.toContain("numer");
});

it.each([
  ["empty", () => body(null, undefined, 204)],
  ["empty, with the type of a page", () => body("", "text/html")],
  ["nothing, with 200", () => body(null)],
  ["nothing, with a length", () => new Response("", { headers: { "content-length": "0" } })],
  ["text", () => body("OK", "text/plain")],
  ["other JSON", () => json({ ok: true })],
  ["text without a type", () => body(new TextEncoder().encode("OK"))],
  ["XML", () => body("<ok/>", "application/xml")],
  ["text that names an element of HTML", () => body("OK, no <body>", "text/plain")],
  ["text of an unknown type", () => body("OK", "x-text/html")],
  ["JSON with the type of a page", () => body('{"ok":true}', "text/html")],
])(
  "resolves setConsent with undefined when the body of a success is %s",
  async (_name, respond) => {
    const { client, requests } = scripted([respond()]);
    expect(await client.setConsent("card_1", { marketing: false })).toBeUndefined();
    expect(requests).toHaveLength(1);
  },
);

describe("client.api", () => {
  const methods = ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"];

  it.each(
    methods.flatMap((method) => [200, 201, 202, 204].map((status) => [method, status] as const)),
  )("resolves %s with %i and no body, after one request", async (method, status) => {
    const { client, requests, events } = scripted([body(null, undefined, status)]);
    const result = await callApi(client, method);
    expect(result).toMatchObject({ response: { status } });
    expect(result?.data ?? undefined).toSatisfy(
      (data) => data === undefined || Object.keys(data).length === 0,
    );
    expect(requests).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: "response", status });
  });

  it.each([
    ["no body", null],
    ["null", "null"],
    ["an empty text", '""'],
    ["false", "false"],
  ])(
    "returns an error, which is true in an if, when the body of a failure is %s",
    async (_name, text) => {
      for (const status of [404, 503]) {
        const { client } = scripted([body(text, "application/json", status)], { maxRetries: 0 });
        const { data, error } = await client.api.GET("/passes/{id}", { params });
        expect(data).toBeUndefined();
        const detail = `The service responded ${status} without details.`;
        expect(error).toMatchObject({ type: "about:blank", status, detail });
      }
    },
  );

  it("returns a body that is not JSON as the caller asked for it", async () => {
    const { client } = scripted([body("OK", "text/plain")]);
    expect(await callApi(client, "GET", { parseAs: "text" })).toMatchObject({ data: "OK" });
    const untyped = scripted([body(new TextEncoder().encode("OK"))], { maxRetries: 0 });
    const call = untyped.client.api.GET("/passes/{id}", { params, parseAs: "text" });
    expect((await catchIssuingError(call)).message).toContain("with a body that is not JSON.");
  });

  it.each([200, 202])(
    "retries a %i whose body is not JSON, and fails with an IssuingError",
    async (status) => {
      const cut = () => body('{"id":"card_1"', "application/json", status);
      const { client, requests } = scripted([cut(), cut(), cut()]);
      const error = await catchIssuingError(client.api.GET("/passes/{id}", { params }));
      expect(error).toMatchObject({ code: "invalid-response", retryable: true });
      expect(requests).toHaveLength(3);
    },
  );

  it("retries DELETE, which is idempotent, and not PATCH", async () => {
    const unavailable = () => json({}, 503);
    const deleting = scripted([unavailable(), body(null, undefined, 204)]);
    expect(await callApi(deleting.client, "DELETE")).toMatchObject({ response: { status: 204 } });
    const patching = scripted([unavailable(), body(null, undefined, 204)]);
    expect(await callApi(patching.client, "PATCH")).toMatchObject({ response: { status: 503 } });
    expect([deleting.requests.length, patching.requests.length]).toEqual([2, 1]);
  });
});

const clientFor = (body: unknown, status = 200) => scripted([json(body, status)]).client;
/** The methods that return a card. */
const readCard = (body: unknown) => [
  () => clientFor(body, 201).issueCard("tpl_club", signUp, { userId: 1 }),
  () => clientFor(body).getCard("card_1"),
];

it.each([
  ["loyaltyBalance", "120"],
  ["loyaltyBalance", null],
  ["loyaltyTier", { name: "Silver" }],
  ["publicUrl", { href: "https://cards.test/1" }],
  ["status", 1],
  ["customerId", 7],
  ["issuedVia", false],
  ["fieldValues", null],
  ["fieldValues", []],
])("rejects a card whose %s is %j, and names the member", async (member, value) => {
  const body = { ...card, [member]: value };
  const message = expect.stringContaining(`/${member}`);
  for (const call of readCard(body))
    await expect(call()).rejects.toMatchObject({
      code: "invalid-response",
      message,
      cardId: "card_1",
    });
});

const inSnakeCase = { id: "card_1", public_url: card.publicUrl, loyalty_balance: 0 };
const invalidId = /a card: missing or invalid: \/id\b/;
const invalidUrl = /a card: missing or invalid: \/publicUrl\./;
const refusedCards: [name: string, body: unknown, message: RegExp, cardId: string | undefined][] = [
  ["has no id", { ...card, id: undefined }, invalidId, undefined],
  ["has an empty id", { ...card, id: "" }, invalidId, undefined],
  ["has a number as id", { ...card, id: 7 }, invalidId, "7"],
  ["has a number as id that lost digits", { ...card, id: 2 ** 53 }, invalidId, undefined],
  ["has no publicUrl", { ...card, publicUrl: undefined }, invalidUrl, "card_1"],
  ["has a path as publicUrl", { ...card, publicUrl: "/cards/1" }, invalidUrl, "card_1"],
  [
    "has a script as publicUrl",
    { ...card, publicUrl: "javascript:alert(1)" },
    invalidUrl,
    "card_1",
  ],
  ["has another scheme", { ...card, publicUrl: "ftp://cards.test/1" }, invalidUrl, "card_1"],
  ["has no host in its publicUrl", { ...card, publicUrl: "https://" }, invalidUrl, "card_1"],
  [
    "has no port in its publicUrl, and no balance",
    { id: "card_1", publicUrl: "https://cards.test:undefined/1" },
    invalidUrl,
    "card_1",
  ],
  [
    "has a publicUrl without its host",
    { ...card, publicUrl: "https://%HOST%/1" },
    invalidUrl,
    "card_1",
  ],
  [
    "has no publicUrl and no status text",
    { ...card, publicUrl: 1, status: 1 },
    /: \/publicUrl, \/status\./,
    "card_1",
  ],
  ["has only an id", { id: "card_1" }, invalidUrl, undefined],
  ["is a job", { id: "job_1", status: "pending", customerId: "cus_1" }, invalidUrl, undefined],
  ["is a wrapper", { id: "req_1", data: card }, /the card is inside another object/, undefined],
  [
    "is a wrapper with a status",
    { id: "req_1", status: "ok", card },
    /inside another object/,
    undefined,
  ],
  [
    "is a wrapper of unknown kind",
    { id: "req_1", status: "ok", card: { no: 1 } },
    invalidUrl,
    undefined,
  ],
  [
    "is a wrapper in snake_case",
    { id: "req_1", data: inSnakeCase },
    /the card is inside another object/,
    undefined,
  ],
  ["has another id inside", { id: "req_1", customer: { id: "cus_1" } }, invalidUrl, undefined],
  ["has only a path", { id: "card_1", publicUrl: "/cards/1" }, invalidUrl, undefined],
  [
    "is in snake_case",
    inSnakeCase,
    /in snake_case, such as public_url instead of publicUrl/,
    "card_1",
  ],
  [
    "is in both cases",
    { ...inSnakeCase, publicUrl: "/cards/1" },
    /a card: missing or invalid: \/publicUrl\./,
    "card_1",
  ],
  ["is a list", [card], invalidId, undefined],
];

it.each(refusedCards)(
  "rejects a response that %s, and says so",
  async (_name, body, message, cardId) => {
    const expected = {
      code: "invalid-response",
      outcome: "unknown",
      retryable: false,
      attempts: 1,
    };
    for (const call of readCard(body)) {
      const error = await catchIssuingError(call());
      expect(error).toMatchObject(expected);
      expect(error.message).toMatch(message);
      expect(error.cardId).toBe(cardId);
    }
  },
);

it.each([
  { id: "job_1", status: "pending" },
  { id: "job_1", loyaltyBalance: 0 },
  { ok: true },
  null,
  undefined,
])(
  "is retryable with the same key after 202 with %j, because the card is issued later",
  async (body) => {
    const response = body === undefined ? new Response(null, { status: 202 }) : json(body, 202);
    const { client } = scripted([response]);
    const error = await client
      .issueCard("tpl_club", signUp, { idempotencyKey: "order-1" })
      .catch((e) => e);
    expect(error).toMatchObject({
      code: "invalid-response",
      outcome: "unknown",
      retryable: true,
      idempotencyKey: "order-1",
      message: expect.stringContaining("202: the card is issued later"),
    });
    expect("cardId" in error).toBe(false);
  },
);

it("returns the card of a 202 that has it", async () => {
  expect(await clientFor(card, 202).issueCard("tpl_club", signUp, { userId: 1 })).toEqual(card);
});

it("returns a card with absent and unknown members", async () => {
  const { id, publicUrl } = card;
  const body = {
    id,
    publicUrl,
    status: "frozen",
    loyaltyTier: null,
    design: { id: "d_1", colour: "green" },
  };
  for (const call of readCard(body)) expect(await call()).toEqual(body);
  expect(await clientFor({ id, publicUrl }).getCard("card_1")).toEqual({ id, publicUrl });
});

it("removes members of an operation that have another type, except id and type", async () => {
  const other = { change: "5", balance: { after: 5 }, createdAt: 1_767_225_600 };
  const items = [{ id: "op_1", type: "purchase", ...other, shop: null }];
  const [operation] = await clientFor({ items }).listOperations("card_1");
  expect(operation).toEqual({ id: "op_1", type: "purchase", shop: null });
});

it.each(["items", "operations", "data", "results"])("finds the list in %s", async (name) => {
  const list = [{ id: "op_1", type: "purchase" }];
  expect(await clientFor({ [name]: list }).listOperations("card_1")).toEqual(list);
});

it("returns the id of an operation as text, also when it is a number", async () => {
  const items = [
    { id: 7, type: "purchase" },
    { id: "op_1", type: "reward" },
  ];
  expect(await clientFor({ items }).listOperations("card_1")).toEqual([
    { id: "7", type: "purchase" },
    { id: "op_1", type: "reward" },
  ]);
  await expect(
    clientFor({ items: [{ id: 2 ** 53 }] }).listOperations("card_1"),
  ).rejects.toMatchObject({
    code: "invalid-response",
  });
});

it("rejects operations when the type of one is not text", async () => {
  const items = [
    { id: "op_1", type: "purchase" },
    { id: "op_2", type: 3 },
  ];
  const error = await catchIssuingError(clientFor({ items }).listOperations("card_1"));
  expect(error.code).toBe("invalid-response");
  expect(error.message).toContain("something that is not a list of operations.");
});

it.each(["false", 0, null, { given: false }])("does not accept %j as a consent", async (value) => {
  const body = { customer: {}, marketingConsent: value };
  await expect(clientFor(body).getConsent("card_1")).rejects.toMatchObject({
    code: "invalid-response",
    message: expect.stringContaining("not a consent: marketingConsent is not true or false."),
  });
  expect(await clientFor(body).setConsent("card_1", { marketing: false })).toBeUndefined();
});

it("is a failure of the network when fetch resolves to a network error, as an interceptor may", async () => {
  const client = createIssuingClient({
    baseUrl: "http://127.0.0.1:9",
    apiKey: "key",
    maxRetries: 0,
    fetch: async () => Response.error(),
  });
  const failure = { code: "network", outcome: "unknown", retryable: true, attempts: 1 };
  await expect(client.getCard("card_1")).rejects.toMatchObject(failure);
});

/** The methods: what they send and return, and what `onResponse` and `onEvent` receive. */

import {
  card,
  issueScripted,
  json,
  networkError,
  openWebsite,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { defineTemplate, type IssueCardRequest, type ResponseMeta } from "../src/index.ts";

describe("issueCard", () => {
  it("issues a card", async () => {
    const { client, service } = openWebsite();
    const issued = await client.issueCard(template.id, signUp, { userId: 1 });
    expect(issued).toEqual(service.cards.get(issued.id));
    const members = {
      status: "active",
      loyaltyBalance: 0,
      loyaltyTier: null,
      issuedVia: "website",
    };
    expect(issued).toMatchObject(members);
  });

  // G1
  it("issues one card per user for sign-ups that are repeated, in several processes, or concurrent", async () => {
    const { client, service, connect } = openWebsite();
    const other = connect({ apiKey: service.apiKeys.full });
    const ids = [
      (await client.issueCard(template.id, signUp, { userId: 7 })).id,
      (await client.issueCard(template.id, signUp, { userId: "7" })).id,
      (await other.issueCard(template.id, signUp, { userId: 7n })).id,
    ];
    expect(new Set(ids).size).toBe(1);
    const key = { idempotencyKey: "order-1" };
    const own = await client.issueCard(template.id, signUp, key);
    expect((await client.issueCard(template.id, signUp, key)).id).toBe(own.id);
    expect((await client.issueCard(template.id, signUp, { userId: 8 })).id).not.toBe(ids[0]);
    const clicks = [client, client, other].map((each) =>
      each.issueCard(template.id, signUp, { userId: 9 }),
    );
    expect(new Set((await Promise.all(clicks)).map(({ id }) => id)).size).toBe(1);
  });

  it("sends the body and headers of the specification", async () => {
    const { client, requests } = scripted([json(card, 201)]);
    const ignored = { Accept: "text/html" };
    await client.issueCard("tpl a/b", signUp, {
      userId: 1,
      headers: { "user-agent": "shop/1", ...ignored },
    });
    const [request] = requests;
    expect([request?.method, request?.url]).toEqual([
      "POST",
      "https://cards.test/api/v1/templates/tpl%20a%2Fb/passes",
    ]);
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      accept: "application/json, application/problem+json",
      authorization: "Bearer key_that_nobody_may_see",
      "content-type": "application/json",
      "idempotency-key": expect.stringMatching(/^lc1_/),
      "user-agent": expect.stringMatching(/^loyalty-cards\/\d+\.\d+\.\d+\S* shop\/1$/),
    });
    expect(await request?.json()).toEqual(signUp);
  });

  const { consents } = signUp.customer;

  it("sends the members of a customer that are getters of its class, as those of an ORM", async () => {
    const contacts = { phone: "+48600100200", email: "anna@example.com", name: "Anna" };
    class Entity {
      get phone() {
        return contacts.phone;
      }
      get email() {
        return contacts.email;
      }
      get name() {
        return contacts.name;
      }
      get consents() {
        return consents;
      }
    }
    const { client, requests } = scripted([json(card, 201)]);
    await client.issueCard("tpl_club", { customer: new Entity() }, { userId: 1 });
    const customer = { ...contacts, consents };
    expect(await requests[0]?.json()).toEqual({ customer, fieldValues: {} });
  });

  const blank = ["", "  ", "\t\u00a0", null, undefined];
  type Row = [what: string, changes: object, sent: object];
  it.each<Row>([
    ...blank.map((text): Row => ["blank contacts", { phone: text, email: text, name: text }, {}]),
    [
      "no spaces around a text",
      { phone: " 600 100 200 ", email: "", consents: { ...consents, marketing: {} } },
      { phone: " 600 100 200 ", consents: { ...consents, marketing: {} } },
    ],
    ["undefined members", { consents: { ...consents, marketing: undefined } }, {}],
  ])("leaves out %s: %o", async (_name, changes, sent) => {
    for (const fieldValues of [undefined, {}, { name: "" }]) {
      const { client, requests } = scripted([json(card, 201)]);
      const customer = { consents, ...changes };
      const before = { ...customer };
      await client.issueCard(
        "tpl_club",
        { customer, ...(fieldValues && { fieldValues }) },
        { userId: 1 },
      );
      expect(await requests[0]?.json()).toEqual({
        customer: { consents, ...sent },
        fieldValues: fieldValues ?? {},
      });
      expect(customer).toEqual(before);
    }
  });
});

it("getCard, listOperations, getConsent and setConsent return the card, its operations up to the limit, newest first, and the consent", async () => {
  const { client, service } = openWebsite();
  const { id } = await client.issueCard(defineTemplate(template.id), signUp, { userId: 1 });
  for (const points of [1, 2, 9]) service.cards.purchase(id, { points });
  const current = { loyaltyBalance: 12, loyaltyTier: "Silver", fieldValues: { points: 12 } };
  expect(await client.getCard(id)).toMatchObject(current);
  expect((await client.listOperations(id)).map(({ change }) => change)).toEqual([9, 2, 1]);
  expect((await client.listOperations(id, { limit: 2 })).map(({ change }) => change)).toEqual([
    9, 2,
  ]);
  expect((await client.getConsent(id)).marketingConsent).toBe(false);
  const consent = await client.setConsent(id, { marketing: true, version: "m1" });
  expect(consent).toMatchObject({ marketingConsent: true });
  expect((await client.getConsent(id)).marketingConsent).toBe(true);
});

it.each([
  ["a bare list", [{ id: "op_1", type: "purchase" }]],
  ["another wrapper", { data: [{ id: "op_1", type: "purchase" }], next: null }],
])("accepts operations in %s, because the specification leaves it open", async (_name, body) => {
  const { client } = scripted([json(body)]);
  expect(await client.listOperations("card_1")).toEqual([{ id: "op_1", type: "purchase" }]);
});

it("passes status, headers, attempts, key and request id to onResponse", async () => {
  const { client, clock } = scripted([json({}, 503), json(card, 201, { "x-request-id": "req_1" })]);
  const metas: ResponseMeta[] = [];
  const onResponse = (meta: ResponseMeta) => void metas.push(meta);
  clock.block(7);
  await client.issueCard(template.id, signUp, { idempotencyKey: "order-1", onResponse });
  const ids = { requestId: "req_1", idempotencyKey: "order-1" };
  expect(metas).toMatchObject([{ status: 201, attempts: 2, durationMs: 0, ...ids }]);
  expect(metas[0]?.headers.get("content-type")).toBe("application/json");
  expect(clock.pendingTimers).toBe(0);
});

describe("the caller's objects and listeners", () => {
  it("sends the request as it was when the method was called", async () => {
    const { client, requests } = scripted([json(card, 201), json(card, 201)]);
    const request = structuredClone(signUp);
    const calls = ["+48600100201", "+48600100202"].map((phone, userId) => {
      request.customer.phone = phone;
      return client.issueCard(template.id, request, { userId });
    });
    request.customer.phone = "+48600100203";
    request.fieldValues.name = "Eve";
    await Promise.all(calls);
    const bodies = (await Promise.all(requests.map((sent) => sent.json()))) as (typeof request)[];
    expect(
      bodies.map(({ customer, fieldValues }) => [customer.phone, fieldValues.name]).sort(),
    ).toEqual([
      ["+48600100201", "Anna"],
      ["+48600100202", "Anna"],
    ]);
  });

  const endings: Record<
    string,
    (setup: { controller: AbortController; block(): void }) => unknown
  > = {
    throws: () => {
      throw new Error("metrics down");
    },
    rejects: () => Promise.reject(new Error("metrics down")),
    "never settles": () => new Promise(() => {}),
    "aborts the call": ({ controller }) => controller.abort(new Error("left")),
    "aborts the call in a microtask": ({ controller }) => queueMicrotask(() => controller.abort()),
    "takes the rest of the deadline": ({ block }) => block(),
  };

  it.each(Object.entries(endings))(
    "returns an issued card when onResponse %s, and the console says what it threw",
    async (name, end) => {
      const log = vi.spyOn(console, "error").mockReturnValue();
      onTestFinished(() => log.mockRestore());
      const { client, clock, requests, events } = scripted([json(card, 201)]);
      const controller = new AbortController();
      const onResponse = () => end({ controller, block: () => clock.advance(60_000) }) as undefined;
      const options = { userId: 1, signal: controller.signal, onResponse };
      expect((await client.issueCard(template.id, signUp, options)).id).toBe("card_1");
      expect([requests.length, clock.pendingTimers]).toEqual([1, 0]);
      expect(events.at(-1)).toMatchObject({ type: "response", status: 201 });
      const line = "issuing-client: onResponse threw Error; it must not throw.";
      expect(log.mock.calls).toEqual(/throws|rejects/.test(name) ? [[line]] : []);
    },
  );
});

it("throws the error of a response, and emits it, when onResponse aborts the call", async () => {
  const controller = new AbortController();
  const { client, events } = scripted([json({}, 404)]);
  const options = { signal: controller.signal, onResponse: () => controller.abort() };
  await expect(client.getCard("card_1", options)).rejects.toMatchObject({ code: "not-found" });
  expect(events.at(-1)).toMatchObject({ type: "response", status: 404 });
});

describe("api", () => {
  it("is typed by the OpenAPI document, uses the same transport and returns error responses", async () => {
    const { client, service } = openWebsite();
    const { data, response } = await client.api.POST("/templates/{templateId}/passes", {
      params: { path: { templateId: template.id } },
      body: signUp,
    });
    expect([response.status, data?.id]).toEqual([201, service.cards.get(data?.id ?? "").id]);
    const missing = await client.api.GET("/passes/{id}", { params: { path: { id: "card_none" } } });
    expect([missing.data, missing.error?.status]).toEqual([undefined, 404]);
  });

  it("supports middleware that uses Request and Response", async () => {
    const { client, requests } = scripted([json(card, 201)]);
    const seen: string[] = [];
    client.api.use({
      async onRequest({ request }) {
        seen.push(await request.clone().text(), String(request.headers.get("authorization")));
        return request;
      },
      async onResponse({ response }) {
        seen.push(await response.clone().text());
        return response;
      },
    });
    const call = { params: { path: { templateId: "t" } }, body: signUp };
    expect((await client.api.POST("/templates/{templateId}/passes", call)).data?.id).toBe("card_1");
    expect(seen).toEqual([JSON.stringify(signUp), "null", JSON.stringify(card)]);
    expect(requests[0]?.headers.get("authorization")).toMatch(/^Bearer /);
  });

  it("does not apply middleware to the methods", async () => {
    const { client } = scripted([json(card)]);
    client.api.use({ onRequest: () => new Promise(() => {}) });
    expect((await client.getCard("card_1")).id).toBe("card_1");
  });

  it("rejects on the caller's abort, and emits events", async () => {
    const controller = new AbortController();
    const left = () => new Promise<Response>(() => controller.abort(new Error("left")));
    const { client, events } = scripted([left]);
    const params = { path: { id: "card_1" } };
    const call = client.api.GET("/passes/{id}", { params, signal: controller.signal });
    await expect(call).rejects.toThrow("left");
    expect(events).toMatchObject([
      { type: "attempt", operation: "api", method: "GET" },
      { type: "abort", operation: "api" },
    ]);
    const other = scripted([json(card)]);
    await other.client.api.GET("/passes/{id}", { params });
    expect(other.events.at(-1)).toMatchObject({ type: "response", operation: "api", status: 200 });
  });

  it.each(["", "   "])("rejects the empty key %j", async (key) => {
    const { client, requests } = scripted([]);
    const call = {
      params: { path: { templateId: "t" }, header: { "Idempotency-Key": key } },
      body: signUp,
    };
    const result = client.api.POST("/templates/{templateId}/passes", call);
    await expect(result).rejects.toMatchObject({ code: "configuration" });
    expect(requests).toEqual([]);
  });

  it.each([
    ["a 503", () => json({}, 503)],
    ["a 409", () => json({}, 409)],
    ["a lost response", () => networkError("ECONNRESET")],
  ])(
    "retries a POST after %s only with a key of the caller: the service may ignore one of ours",
    async (_name, fail) => {
      const post = async (header: { "Idempotency-Key"?: string }) => {
        const { client, requests } = scripted([fail(), json(card, 201)]);
        const call = { params: { path: { templateId: "t" }, header }, body: signUp };
        await client.api.POST("/templates/{templateId}/passes", call).catch(() => {});
        return requests.map(({ headers }) => headers.get("idempotency-key"));
      };
      expect(await post({})).toEqual([null]);
      expect(await post({ "Idempotency-Key": "order-1" })).toEqual(["order-1", "order-1"]);
    },
  );
});

it("reads the API key from a function for each call", async () => {
  const keys = ["first", "second"];
  const { client, requests } = scripted([json({}, 503), json(card), json(card)], {
    apiKey: async () => keys.shift() ?? "",
  });
  await client.getCard("card_1");
  await client.getCard("card_1");
  const sent = requests.map(({ headers }) => headers.get("authorization"));
  expect(sent).toEqual(["Bearer first", "Bearer first", "Bearer second"]);
});

it.each([
  ["idempotent-replayed", "true", true],
  ["idempotency-replayed", "True", true],
  ["idempotent-replayed", "false", undefined],
  ["x-other", "true", undefined],
])("says whether the response is a replay: %s: %s", async (name, value, replayed) => {
  const { client } = scripted([json(card, 201, { [name]: value })]);
  const metas: ResponseMeta[] = [];
  await client.issueCard(template.id, signUp, {
    userId: 1,
    onResponse: (meta) => void metas.push(meta),
  });
  expect(metas[0]?.replayed).toBe(replayed);
});

describe("onEvent", () => {
  it("receives attempts, retries with their reason, and the response", async () => {
    const slow = () => {
      run.clock.block(7);
      return json(card, 201);
    };
    const run = issueScripted([json({}, 503), networkError("ECONNRESET"), slow]);
    const { events } = run;
    await run.result;
    const ofThisCall = { callId: events[0]?.callId, operation: "issueCard" };
    expect(events).toEqual([
      { ...ofThisCall, type: "attempt", attempt: 1, method: "POST" },
      { ...ofThisCall, type: "retry", attempt: 1, status: 503, delayMs: 0 },
      { ...ofThisCall, type: "attempt", attempt: 2, method: "POST" },
      { ...ofThisCall, type: "retry", attempt: 2, code: "network", delayMs: 0 },
      { ...ofThisCall, type: "attempt", attempt: 3, method: "POST" },
      { ...ofThisCall, type: "response", attempts: 3, status: 201, durationMs: 7 },
    ]);
  });

  it("receives a failure when a call ends without a response", async () => {
    const { result, events } = issueScripted([networkError("ECONNRESET")], { maxRetries: 0 });
    await result.catch(() => {});
    const callId = expect.any(Number);
    const failure = {
      type: "failure",
      callId,
      operation: "issueCard",
      attempts: 1,
      code: "network",
    };
    expect(events.at(-1)).toEqual({ ...failure, durationMs: 0 });
  });

  it("receives a failure after a mistake in the program, which is thrown as it is and not retried", async () => {
    const mistake = new TypeError("not a function");
    const get = () => {
      throw mistake;
    };
    const response = {
      status: 200,
      type: "default",
      headers: { get },
      body: null,
      text: async () => "{}",
    };
    const { client, events } = scripted([response as never]);
    await expect(client.getCard("card_1")).rejects.toBe(mistake);
    expect(events).toMatchObject([{ type: "attempt" }, { type: "failure", code: "configuration" }]);
  });

  it("receives the same callId in all events of one call", async () => {
    const { client, events } = scripted([json(card), json({}, 404)]);
    await Promise.allSettled([client.getCard("card_1"), client.getCard("card_2")]);
    const [first = 0, second = 0, ...more] = new Set(events.map(({ callId }) => callId));
    const ofCall = (callId: number) => events.filter((event) => event.callId === callId);
    expect(more).toEqual([]);
    expect(ofCall(first)).toMatchObject([{ type: "attempt" }, { type: "response", status: 200 }]);
    expect(ofCall(second)).toMatchObject([{ type: "attempt" }, { type: "response", status: 404 }]);
  });

  it("does not fail a call when it throws or rejects, which the console says", async () => {
    const failure = new Error("metrics down");
    const fail = () => {
      throw failure;
    };
    const log = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => log.mockRestore());
    for (const onEvent of [fail, () => Promise.reject(failure)])
      expect((await issueScripted([json(card, 201)], { onEvent }).result).id).toBe("card_1");
    // Once for each function, although there were two events.
    const line = "issuing-client: onEvent threw Error; it must not throw.";
    expect(log.mock.calls).toEqual([[line], [line]]);
  });
});

describe("fields-differ", () => {
  const stored = (fieldValues?: object) =>
    json({ ...card, ...(fieldValues && { fieldValues }) }, 201);
  const issue = (request: IssueCardRequest, response: Response) => {
    const { client, events } = scripted([response]);
    return client.issueCard("tpl_club", request, { userId: 1 }).then(() => events);
  };
  const { customer } = signUp;

  // G9
  it("names the fields whose values are those of another request, without the values, before the end", async () => {
    const fieldValues = { name: "Anna", shop: 7, points: 0 };
    const events = await issue(
      { customer, fieldValues },
      stored({ name: "Eve", shop: 8, points: 0, colour: "red" }),
    );
    expect(events.map(({ type }) => type)).toEqual(["attempt", "fields-differ", "response"]);
    expect(events[1]).toEqual({
      type: "fields-differ",
      callId: events[0]?.callId,
      operation: "issueCard",
      fieldKeys: ["name", "shop"],
    });
  });

  it.each([
    ["an object that is not text", { toString: 1 }],
    ["a list of them", [{ toString: 1 }]],
  ])("names a field whose value on the card is %s", async (_name, name) => {
    const events = await issue({ customer, fieldValues: { name: "Anna" } }, stored({ name }));
    expect(events[1]).toMatchObject({ type: "fields-differ", fieldKeys: ["name"] });
  });

  const fieldValues = { name: "Anna", shop: 7 };
  it.each<[string, object | undefined, IssueCardRequest?]>([
    ["equal values", { name: "Anna", shop: 7 }],
    ["values without surrounding spaces, and a number as text", { name: " Anna ", shop: "7" }],
    ["no values", undefined],
    ["other fields", { colour: "red", points: 3 }],
    ["values, when none were sent", { name: "Eve" }, { customer }],
  ])(
    "is not emitted for a card with %s",
    async (_name, returned, request = { customer, fieldValues }) => {
      const events = await issue(request, stored(returned));
      expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
    },
  );

  it("compares with the values at the time of the call", async () => {
    const { client, events } = scripted([stored({ name: "Eve" })]);
    const fieldValues = { name: "Anna" };
    const call = client.issueCard("tpl_club", { customer, fieldValues }, { userId: 1 });
    fieldValues.name = "Eve";
    await call;
    expect(events.filter(({ type }) => type === "fields-differ")).toMatchObject([
      { fieldKeys: ["name"] },
    ]);
  });
});

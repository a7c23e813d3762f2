/** The receiver without a framework: valid deliveries, invalid events, options. */
import { describe, expect, it } from "vitest";
import {
  createReceiver,
  isKnownEvent,
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
  signWebhookSync,
} from "../src/index.ts";
import {
  balanceChanged,
  createGate,
  createTestReceiver,
  post,
  secret,
  signedDelivery,
} from "./signed-delivery.ts";

describe("a valid delivery", () => {
  it("responds 204 after handler has resolved", async () => {
    const seen: string[] = [];
    const { receive, outcomes } = createTestReceiver({
      handler: (event) => void seen.push(event.id),
      now: () => 1_767_225_600_999,
    });
    const response = await receive(post(signedDelivery(balanceChanged(), { timestamp: 1_767_225_600 })));
    expect(response.status).toBe(204);
    expect(seen).toEqual(["evt_1"]);
    expect(response.afterResponse).toBeUndefined();
    expect(outcomes).toMatchObject([
      { outcome: "verified", status: 204, event: { id: "evt_1", type: "balance.changed" }, skewSeconds: 0 },
    ]);
    expect(outcomes).toMatchObject([{ eventTypeMismatch: false }]);
  });

  it("calls process after the response", async () => {
    const seen: string[] = [];
    const { receive } = createTestReceiver({ afterResponse: (event) => void seen.push(event.id) });
    const response = await receive(post(signedDelivery(balanceChanged())));
    expect([response.status, seen]).toEqual([204, []]);
    await response.afterResponse?.();
    expect(seen).toEqual(["evt_1"]);
  });

  it("leaves no timer when it has responded", async () => {
    const countTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const { opened, open } = createGate();
    const { receive } = createTestReceiver({ timeoutMs: 60_000, handler: () => opened });
    const before = countTimers();
    const response = receive(post(signedDelivery(balanceChanged())));
    expect(countTimers()).toBe(before + 1);
    open();
    await response;
    expect(countTimers()).toBe(before);
  });

  it("passes the id, the bytes and the time of the delivery to handler", async () => {
    const seen: unknown[] = [];
    const nowMs = Date.now();
    const { receive } = createTestReceiver({
      now: () => nowMs,
      handler: (_event, { id, rawBody, receivedAt, signal }) =>
        void seen.push([id, new TextDecoder().decode(rawBody), receivedAt.getTime(), signal.aborted]),
    });
    const delivery = signedDelivery(balanceChanged());
    const { "service-delivery": _, ...headers } = delivery.headers;
    await receive(post(delivery));
    await receive(post({ ...delivery, headers }));
    expect(seen).toEqual([
      ["dlv_1", delivery.body, nowMs, false],
      [undefined, delivery.body, nowMs, false],
    ]);
  });

  // G17
  it("accepts an event of an unknown type", async () => {
    const seen: string[] = [];
    const { receive } = createTestReceiver({ handler: (event) => void seen.push(event.type) });
    const event = { id: "evt_1", type: "card.renamed", createdAt: "2026-01-01T00:00:00.000Z" };
    expect((await receive(post(signedDelivery(event)))).status).toBe(204);
    expect(seen).toEqual(["card.renamed"]);
  });

  it("uses the type in the signed body, and reports a header that names another", async () => {
    const seen: string[] = [];
    const { receive, outcomes } = createTestReceiver({ handler: (event) => void seen.push(event.type) });
    const delivery = signedDelivery(balanceChanged());
    delivery.headers["service-event"] = "card.added";
    expect((await receive(post(delivery))).status).toBe(204);
    expect(seen).toEqual(["balance.changed"]);
    expect(outcomes).toMatchObject([{ eventTypeMismatch: true }]);
  });

  it("reports no mismatch without the Service-Event header", async () => {
    const { receive, outcomes } = createTestReceiver();
    const delivery = signedDelivery(balanceChanged());
    delete delivery.headers["service-event"];
    await receive(post(delivery));
    expect(outcomes).toMatchObject([{ eventTypeMismatch: false }]);
  });

  it("accepts a body of exactly maxBodyBytes, with and without content-length", async () => {
    const { body, headers } = signedDelivery(balanceChanged());
    const { receive } = createTestReceiver({ maxBodyBytes: body.length });
    const announced = { ...headers, "content-length": String(body.length) };
    expect((await receive({ method: "POST", headers, rawBody: body })).status).toBe(204);
    expect((await receive({ method: "POST", headers: announced, rawBody: body })).status).toBe(204);
  });

  it.each([
    ["12", { maxBodyBytes: 100, expectedBytes: 12 }],
    [undefined, { maxBodyBytes: 100 }],
    ["12 bytes", { maxBodyBytes: 100 }],
    ["-12", { maxBodyBytes: 100 }],
    ["1e1", { maxBodyBytes: 100 }],
  ])("reads a body with content-length %s within %j", async (announced, limits) => {
    const { receive } = createTestReceiver({ maxBodyBytes: 100 });
    const { headers } = signedDelivery(balanceChanged());
    const seen: unknown[] = [];
    const rawBody = async (given: unknown) => {
      seen.push(given);
      return "";
    };
    await receive({ method: "POST", headers: { ...headers, "content-length": announced }, rawBody });
    expect(seen).toEqual([limits]);
  });

  it("reports which secret matched and the clock skew", async () => {
    const { receive, outcomes } = createTestReceiver({
      secret: [
        { key: "whsec_new", id: "new" },
        { key: secret, id: "old" },
      ],
      now: () => 1_767_225_642_000,
    });
    await receive(post(signedDelivery(balanceChanged(), { timestamp: 1_767_225_600 })));
    expect(outcomes).toMatchObject([{ secretId: "old", skewSeconds: 42 }]);
  });

  it("reads headers of any case, from a record and from Headers", async () => {
    const { receive } = createTestReceiver({ handler: () => {} });
    const delivery = signedDelivery(balanceChanged());
    const upper = Object.fromEntries(
      Object.entries(delivery.headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const headers of [upper, new Headers(delivery.headers)]) {
      expect((await receive({ method: "POST", headers, rawBody: delivery.body })).status).toBe(204);
    }
  });
});

describe("a valid delivery whose data differs from the contract", () => {
  const other = (type: string, data: unknown) => ({ ...balanceChanged(), type, data });
  const { data: whole } = balanceChanged();

  it.each<[string, unknown, string[]]>([
    ["balance.changed", undefined, ["/data"]],
    ["balance.changed", null, ["/data"]],
    ["balance.changed", [], ["/data"]],
    ["balance.changed", "text", ["/data"]],
    ["balance.changed", { ...whole, balance: "120" }, ["/data/balance"]],
    [
      "balance.changed",
      { ...whole, change: null, passId: 1, balance: null },
      ["/data/passId", "/data/balance"],
    ],
    ["card.added", { customerId: "cus_1" }, ["/data/passId"]],
    ["card.removed", { passId: null }, ["/data/passId"]],
    ["tier.changed", {}, ["/data/passId"]],
    ["consent.changed", { customerId: "cus_1" }, ["/data/passIds"]],
    ["consent.changed", { customerId: "cus_1", passIds: ["a", 7, 8] }, ["/data/passIds/1"]],
  ])("accepts %s with %j, and reports the paths", async (type, data, paths) => {
    const seen: unknown[] = [];
    const { receive, outcomes } = createTestReceiver({
      handler: (event) => void seen.push(event, isKnownEvent(event)),
    });
    const event = other(type, data);
    expect((await receive(post(signedDelivery(event)))).status).toBe(204);
    expect(seen).toEqual([JSON.parse(JSON.stringify(event)), false]);
    expect(outcomes).toMatchObject([
      { outcome: "verified", status: 204, event: { id: "evt_1", type }, unexpectedData: paths },
    ]);
  });

  it("accepts a number that JSON can write but that becomes Infinity", async () => {
    const { receive, outcomes } = createTestReceiver();
    const body = JSON.stringify(balanceChanged()).replace(`"balance":120`, `"balance":1e999`);
    expect((await receive(post(signedDelivery(body)))).status).toBe(204);
    expect(outcomes).toMatchObject([{ unexpectedData: ["/data/balance"] }]);
  });

  it.each<[string, unknown]>([
    ["balance.changed", whole],
    ["balance.changed", { ...whole, bonus: [1], operation: { ...whole.operation, by: null } }],
    ["balance.changed", { ...whole, operation: { id: 7 }, change: undefined }],
    ["balance.changed", { ...whole, operation: null, change: "+20", customerId: 7 }],
    ["consent.changed", { passIds: ["card_1"] }],
    ["tier.changed", { passId: "card_1", customerId: "cus_1", tier: { name: "Gold" }, previous: 1 }],
    ["tier.changed", { passId: "card_1", customerId: "cus_1" }],
    ["card.added", { passId: "card_1", customerId: "cus_1", wallet: null }],
    ["card.removed", { passId: "card_1", customerId: "cus_1", wallet: ["apple"] }],
    ["consent.changed", { customerId: "cus_1", passIds: [], marketingConsent: "given" }],
    ["ping", undefined],
    ["ping", null],
    ["ping", [7]],
    ["card.renamed", "text"],
  ])("reports no difference for %s with %j, which has what a handler needs", async (type, data) => {
    const { receive, outcomes, log } = createTestReceiver();
    expect((await receive(post(signedDelivery(other(type, data))))).status).toBe(204);
    expect(outcomes[0]).not.toHaveProperty("unexpectedData");
    expect(log).toEqual([]);
  });

  it("logs the paths once per type, without values", async () => {
    const { receive, log, outcomes } = createTestReceiver();
    const personal = { ...whole, passId: 600100200, balance: "anna@example.com" };
    for (let count = 0; count < 3; count++) {
      await receive(
        post(signedDelivery({ ...other("balance.changed", personal), ...{ id: `evt_${count}` } })),
      );
      await receive(post(signedDelivery(other("card.added", null))));
    }
    expect(log).toEqual([
      expect.stringMatching(/data of balance\.changed evt_0 .* at \/data\/passId, \/data\/balance\. /),
      expect.stringMatching(/data of card\.added evt_1 .* at \/data\. /),
    ]);
    expect(log.join()).not.toMatch(/anna|600100200/);
    expect(outcomes.filter((outcome) => "unexpectedData" in outcome)).toHaveLength(6);
  });

  it("responds 503 when onEvents has a handler for the type and no `unexpectedData`", async () => {
    const called: string[] = [];
    const handler = (event: { type: string }) => void called.push(event.type);
    const { receive, outcomes, log } = createTestReceiver({
      handler: onEvents({ "balance.changed": handler, otherTypes: handler }),
    });
    const response = await receive(post(signedDelivery(other("balance.changed", null))));
    expect([response.status, response.headers, called]).toEqual([503, { "retry-after": "60" }, []]);
    expect(outcomes).toMatchObject([
      { outcome: "failed", reason: "handler-error", unexpectedData: ["/data"] },
    ]);
    expect(log).toEqual([
      expect.stringMatching(/the data of balance\.changed evt_1 differs .* at \/data\./),
      expect.stringMatching(
        /balance\.changed evt_1 failed: Error at \S+: The data of balance\.changed lacks what its handler needs at \/data: update .*; responded 503/,
      ),
    ]);
    expect((await receive(post(signedDelivery(balanceChanged())))).status).toBe(204);
    expect(called).toEqual(["balance.changed"]);
  });
});

describe("a signed body that is not an event", () => {
  const genuine = JSON.stringify(balanceChanged());
  it.each<[string, string | Uint8Array, RegExp]>([
    ["an empty body", "", /the body is not JSON/],
    ["a list", "[]", /the body is not a JSON object/],
    ["text that is not UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), /the body is not UTF-8/],
    ["an id that is a number", genuine.replace('"evt_1"', "1"), /id is not a string/],
    ["an empty id", genuine.replace("evt_1", ""), /id is empty/],
    ["an id with a NUL", genuine.replace("evt_1", "evt\\u0000"), /id has a NUL character/],
    [
      "an id with a lone surrogate",
      genuine.replace("evt_1", "evt\\ud83c"),
      /id has a NUL .* or half of a surrogate/,
    ],
    ["an id of 513 characters", genuine.replace("evt_1", "e".repeat(513)), /id has more than 512 characters/],
    ["a type with a NUL", genuine.replace("balance.changed", "\\u0000"), /type has a NUL character/],
    ["no createdAt", genuine.replace("createdAt", "created"), /createdAt is not a string/],
    [
      "a createdAt with a lone surrogate",
      genuine.replace("2026", "\\udfff"),
      /createdAt has a NUL .* or half/,
    ],
  ])("responds 400 to %s, and logs why", async (_name, body, why) => {
    const accepted: unknown[] = [];
    const { receive, log, outcomes } = createTestReceiver({ handler: (event) => void accepted.push(event) });
    const signature = signWebhookSync({ rawBody: body, secret });
    const headers = { "service-signature": signature };
    expect((await receive({ method: "POST", headers, rawBody: body })).status).toBe(400);
    expect(log).toEqual([expect.stringMatching(why)]);
    expect(log.join()).not.toContain("evt");
    expect([accepted, outcomes]).toMatchObject([[], [{ outcome: "rejected", reason: "invalid-payload" }]]);
  });

  it("logs nothing when the signature does not match", async () => {
    const { receive, log } = createTestReceiver();
    const headers = { "service-signature": signWebhookSync({ rawBody: "[]", secret: "whsec_other" }) };
    expect((await receive({ method: "POST", headers, rawBody: "[]" })).status).toBe(401);
    expect(log).toEqual([]);
  });
});

it("logs the type and the id of an event on one line, and shortens them", async () => {
  const { receive, log } = createTestReceiver({ handler: () => Promise.reject(new Error("down")) });
  const event = { id: "evt\n1 is fine\u2028\u202e", type: "x\r\n".repeat(5_000), createdAt: "x" };
  expect((await receive(post(signedDelivery(JSON.stringify(event))))).status).toBe(503);
  expect(log).toHaveLength(1);
  expect(log[0]).not.toMatch(/[\r\n\u2028\u202e]/);
  expect(log[0]?.length).toBeLessThan(600);
});

describe("createReceiver", () => {
  it.each([
    ["a missing secret", { secret: undefined }, /secret is undefined: is LOYALTY_SIGNING_SECRET set\?/],
    ["an empty secret", { secret: "" }, /secret is an empty string: is LOYALTY_SIGNING_SECRET set\?/],
    [
      "a tolerance that is not a number",
      { secret, toleranceSeconds: Number("") / 0 },
      /toleranceSeconds must/,
    ],
    ["a negative tolerance", { secret, toleranceSeconds: -1 }, /toleranceSeconds must/],
    [
      "a body limit of NaN",
      { secret, maxBodyBytes: Number.NaN },
      /maxBodyBytes must be a positive .* is NaN/,
    ],
    ["a maximum age of 0", { secret, secretMaxAgeSeconds: 0 }, /secretMaxAgeSeconds must be a positive/],
    [
      "an infinite maximum age",
      { secret, secretMaxAgeSeconds: Number.POSITIVE_INFINITY },
      /secretMaxAgeSeconds/,
    ],
    ["a maximum age of NaN", { secret, secretMaxAgeSeconds: Number.NaN }, /secretMaxAgeSeconds .* is NaN/],
    ["a maximum age that is text", { secret, secretMaxAgeSeconds: "300" }, /secretMaxAgeSeconds/],
    ["a timeout of 0", { secret, timeoutMs: 0 }, /timeoutMs must be a positive number/],
    ["a timeout that is too long for a timer", { secret, timeoutMs: 2 ** 31 }, /at most 2147483647/],
    [
      "a secret with a final line break",
      { secret: `${secret}\n` },
      /secret is a string that ends with white space/,
    ],
    ["a secret after a space", { secret: ` ${secret}` }, /secret is a string that begins with white space/],
    ["a blank secret", { secret: " \t\n" }, /secret is white space only: set LOYALTY_SIGNING_SECRET/],
    ["no secrets in a list", { secret: [] }, /secret is an empty list/],
    ["a secret without bytes", { secret: new Uint8Array() }, /secret is an empty array of bytes/],
    [
      "a promise of a secret",
      { secret: Promise.resolve(secret) },
      /secret is a value of type object: it must be/,
    ],
    [
      "a misspelt handler",
      { secret, handlr: () => {} },
      /createReceiver has no option "handlr"\. Did you mean handler\? Its options are secret, /,
    ],
    [
      "an earlier name of handler",
      { secret, accept: () => {} },
      /no option "accept"\. Its options are .*handler, afterResponse/,
    ],
    [
      "a handler that is undefined",
      { secret, handler: undefined },
      /handler must be a function; it is undefined/,
    ],
    ["a handler that is null", { secret, handler: null }, /handler must be a function; it is null/],
    [
      "a result instead of a handler",
      { secret, handler: Promise.resolve() },
      /handler must be a function; it is object/,
    ],
    [
      "an afterResponse that is text",
      { secret, afterResponse: "save" },
      /afterResponse must be a function; it is string/,
    ],
    ["an onOutcome that is not a function", { secret, onOutcome: {} }, /onOutcome must be a function/],
    ["a log that is not a function", { secret, log: console }, /log must be a function/],
    ["an inbox that is undefined", { secret, inbox: undefined }, /inbox must have a method put/],
    [
      "a dedupe store that is not one",
      { secret, handler() {}, dedupe: new Set() },
      /dedupe must have the methods claim, complete and release/,
    ],
    [
      "a dedupe store without a handler",
      { secret, dedupe: memoryDedupe() },
      /dedupe needs handler, afterResponse or inbox/,
    ],
    ["no options", undefined, /needs options/],
    ["null instead of options", null, /needs options/],
    ["a secret instead of options", secret, /needs options/],
  ])("throws for %s", (_name, options, message) => {
    const make = () => createReceiver(options as unknown as ReceiverOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it("needs no handler, because the response has the event", async () => {
    const receive = createReceiver({ secret });
    expect(await receive(post(signedDelivery(balanceChanged())))).toMatchObject({
      status: 204,
      event: balanceChanged(),
    });
  });

  it("accepts the longest timeout of a timer", () => {
    expect(createReceiver({ secret, timeoutMs: 2 ** 31 - 1 })).toBeTypeOf("function");
  });
});

describe("a listener that fails", () => {
  it.each([
    [
      "onOutcome throws",
      {
        onOutcome: () => {
          throw new RangeError("+48600100200");
        },
      },
    ],
    ["onOutcome rejects", { onOutcome: async () => Promise.reject(new RangeError("x")) }],
    [
      "log throws",
      {
        handler: () => Promise.reject(new Error("x")),
        log: () => {
          throw new Error("disk full");
        },
      },
    ],
    [
      "log rejects",
      {
        handler: () => Promise.reject(new Error("x")),
        log: async () => Promise.reject(new Error("disk full")),
      },
    ],
  ] as [string, Partial<ReceiverOptions>][])(
    "does not affect the delivery when %s",
    async (_name, options) => {
      const { receive, log } = createTestReceiver(options);
      expect((await receive(post(signedDelivery(balanceChanged())))).status).toBe(
        options.handler ? 503 : 204,
      );
      expect(log.join()).not.toContain("600100200");
    },
  );
});

/**
 * Invalid options, templates and addresses are rejected with an error that names them; a wrong
 * `deliver` function or clock does not crash the process.
 */
// G20
import { type MockServerOptions, startMockServer } from "@loyalty-cards/mock-server/node";
import { noon, openMockShop } from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";
import {
  createMockService,
  type MockService,
  type MockServiceOptions,
  manualClock,
  scaledClock,
  type TemplateInput,
} from "../src/index.ts";
import { respondWith, sendPing } from "./shop.ts";

it.each([
  [{ baseUrl: "cards" }, /baseUrl/],
  [{ defaultCountry: "XX" }, /defaultCountry/],
  [{ deliveryTimeoutMs: 0 }, /deliveryTimeoutMs/],
  [{ deliveryTimeoutMs: 2 ** 31 }, /deliveryTimeoutMs/],
  [{ apiKeys: { website: "a b" } }, /^apiKeys must be different texts without spaces/],
  [{ apiKeys: { website: "k", full: "k" } }, /^apiKeys must be different texts/],
  [{ apiKeys: "k" }, /^apiKeys must be an object; it is string\.$/],
  [{ forwardTo: true }, /^forwardTo must be a string; it is boolean\.$/],
  [{ templates: [] }, /at least one/],
  [{ wallets: { first: "a", second: "a" } }, /wallets/],
  [{ wallets: { first: "a" } }, /wallets must have two different names/],
  [{ templates: {} }, /^templates must be a list of objects; it is object\.$/],
  [{ templates: ["tpl_a"] }, /^templates must be a list of objects; it is list of other values\.$/],
  [{ endpoints: null }, /^endpoints must be a list of objects; it is null\.$/],
  [{ endpoints: [null] }, /^endpoints must be a list of objects/],
  [{ log: {} }, /^log must be a function; it is object\.$/],
  [{ deliver: "http://127.0.0.1" }, /^deliver must be a function; it is string\.$/],
  [{ clock: "manual" }, /^clock must have a function now/],
  [{ clock: null }, /^clock must have a function now/],
  [{ baseUrl: 4010 }, /^baseUrl must be a string; it is number\.$/],
  [{ deliveryTimeoutMs: "5" }, /^deliveryTimeoutMs must be a number/],
  [{ wallets: { frist: "a" } }, /^wallets has no option "frist"\. Did you mean first\?/],
  [{ apiKeys: { web: "k" } }, /^apiKeys has no option "web"\. Its options are website, full\./],
  [
    { endpoints: [{ url: "https://shop.example", event: [] }] },
    /^An endpoint has no member "event"\. Did you mean events\?/,
  ],
  [
    {
      endpoints: ["https://shop.test", "https://shop.test/"].map((url) => ({
        url,
        events: ["ping"],
      })),
    },
    /^endpoints must have different addresses; https:\/\/shop\.test\/ is there twice\.$/,
  ],
  [{ template: [] }, /^createMockService has no option "template"\. Did you mean templates\?/],
])("rejects createMockService(%j)", (options, message) => {
  expect(() => createMockService(options as unknown as MockServiceOptions)).toThrow(message);
});

it.each([
  [{ port: "4010" }, /^port must be a number; it is string\.$/],
  [{ host: null }, /^host must be a string; it is null\.$/],
  [{ onTraffic: true }, /^onTraffic must be a function/],
  [{ dataFile: {} }, /^dataFile must be a string/],
  [{ templates: 5 }, /^templates must be a list of objects/],
  [{ seedFile: "/nowhere/seed.json" }, /^seedFile or --seed .* cannot be used: ENOENT/],
  [{ prot: 4010 }, /^startMockServer has no option "prot"\. Did you mean port\?/],
])("rejects startMockServer(%j)", async (options, message) => {
  await expect(startMockServer(options as unknown as MockServerOptions)).rejects.toThrow(message);
});

const field = { key: "a", type: "text" };

it.each([
  [{ name: "" }, /name/],
  [{ name: "A", id: "a/b" }, /template\.id/],
  [{ name: "A", id: ".." }, /template\.id/],
  [{ name: "A", id: "tpl_mock" }, /already/],
  [{ name: "A", fields: [{ ...field, key: "" }] }, /"fields\.0\.key" must not be blank/],
  [{ name: "A", fields: [{ ...field, type: "date" }] }, /name, text, number/],
  [{ name: "A", fields: [field, field] }, /two fields/],
  [{ name: "A", tiers: [{ name: "Gold" }] }, /tier/],
])("rejects templates.create(%j)", (input, message) => {
  const { templates } = createMockService();
  expect(() => templates.create(input as unknown as TemplateInput)).toThrow(message);
  expect(() => templates.archive("tpl_none")).toThrow(/no template/);
});

it.each<[message: string, call: (service: MockService) => unknown]>([
  ["service.fetch takes a Request:", ({ fetch }) => fetch("https://cards.test/" as never)],
  ["The template must be of type object.", ({ templates }) => templates.create("x" as never)],
  ["The fault must be of type object.", ({ faults }) => faults.add(503 as never)],
  ["The endpoint must be of type object.", (one) => one.webhooks.createEndpoint("x" as never)],
  [
    'waitFor has no option "timeout". Did you mean timeoutMs?',
    (one) => one.waitFor({ card: { id: "card_1" } }, { timeout: 1 } as object),
  ],
  [
    'deliveries has no option "stat". Did you mean state?',
    ({ webhooks }) => webhooks.deliveries({ stat: "failed" } as object),
  ],
  [
    'expire has no option "keepBlance". Did you mean keepBalance?',
    ({ cards }) => cards.expire("card_1", { points: 1, keepBlance: true } as never),
  ],
  [
    '"ulr" is not known; there are url, events.',
    ({ webhooks }) => webhooks.updateEndpoint("we_1", { ulr: "https://shop.example" } as object),
  ],
  [
    'clock.set has no option "facter". Did you mean factor?',
    ({ clock }) => clock.set({ mode: "scaled", facter: 2 } as never),
  ],
  [
    'scaledClock has no option "facter". Did you mean factor?',
    () => scaledClock({ facter: 2 } as object),
  ],
  [
    "The id of a fault is a string; it is object. Pass the member id.",
    ({ faults }) => faults.remove({ id: "flt_1" } as never),
  ],
  [
    "The id of a card is a string; it is undefined. Pass the member id.",
    ({ cards }) => cards.get(undefined as never),
  ],
])("says what a method takes: %s", async (message, call) => {
  const error: unknown = await new Promise((resolve) => resolve(call(createMockService()))).catch(
    (each) => each,
  );
  expect((error as Error).message).toContain(message);
});

it("starts with the API keys of the options, and creates and revokes others", async () => {
  const { service, call } = openMockShop({ apiKeys: { website: "shop_key" } });
  const { apiKeys } = service;
  expect([apiKeys.website, apiKeys.full]).toEqual(["shop_key", "mock_full_key"]);
  const getStatus = async (key: string) =>
    (await call("GET", "/api/v1/passes/card_none", { key })).status;
  expect([await getStatus("shop_key"), await getStatus("mock_website_key")]).toEqual([404, 401]);
  const { key, kind } = apiKeys.create();
  expect([kind, await getStatus(key)]).toEqual(["website", 404]);
  const snapshot = service.snapshot();
  apiKeys.revoke("shop_key");
  expect([await getStatus("shop_key"), await getStatus(key)]).toEqual([401, 404]);
  expect(() => apiKeys.revoke("shop_key")).toThrow(/^There is no such API key\.$/);
  expect(() => apiKeys.create("admin" as never)).toThrow(/no kind "admin"/);
  expect(apiKeys.list()).toEqual([
    { key: "mock_full_key", kind: "full" },
    { key, kind },
  ]);
  service.restore(snapshot);
  expect(await getStatus("shop_key")).toBe(404);
});

it("lists the cards, oldest first", async () => {
  const { service, issue } = openMockShop();
  expect(service.cards.list()).toEqual([]);
  const cards = [(await issue()).body, (await issue()).body];
  expect(service.cards.list()).toEqual(cards);
});

it("creates a manual clock at a date, and rejects what is not a date", () => {
  expect(manualClock("2026-01-01T00:00:00Z").now()).toBe(Date.UTC(2026, 0, 1));
  expect(() => manualClock("yesterday")).toThrow(/not a date/);
  expect(() => manualClock(1000).moveTo(999)).toThrow(/cannot move back/);
});

const fail = (error: unknown) => () => {
  throw error;
};

it.each<[what: string, misbehave: () => unknown, error: unknown]>([
  ["throws synchronously", fail(new Error("boom")), "boom"],
  ["throws a value that is not an Error", fail(null), "the receiver threw null"],
  ["throws an object without prototype", fail(Object.create(null)), "the receiver threw object"],
  ["returns nothing", () => undefined, "the receiver returned undefined, not a Response"],
  ["returns null later", async () => null, "the receiver returned null, not a Response"],
  ["returns a text", () => "204", "the receiver returned string, not a Response"],
  [
    "returns a text as its status",
    () => ({ status: "204" }),
    "the receiver returned object, not a Response",
  ],
  [
    "returns NaN as its status",
    () => ({ status: NaN }),
    "the receiver returned object, not a Response",
  ],
])(
  "makes a failed attempt when deliver %s, and the next one comes",
  async (_what, misbehave, error) => {
    let isWell = false;
    const deliver = () => (isWell ? respondWith(204)() : misbehave());
    const { service } = openMockShop({ deliver: deliver as () => Response });
    sendPing(service);
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([
      { state: "pending", attempts: [{ error }] },
    ]);
    isWell = true;
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
  },
);

const neverCancelled = new ReadableStream({ cancel: () => new Promise(() => {}) });
it.each([["text"], [{ cancel: fail(new Error("no")) }], [{ cancel: 1 }], [7], [neverCancelled]])(
  "evaluates the status of a response, with any body: %j",
  async (body) => {
    const { service } = openMockShop({ deliver: () => ({ status: 204, body }) as never });
    sendPing(service);
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
  },
);

it("rejects idle() without a crash when the clock returns NaN", async () => {
  let nowMs = noon;
  const { service } = openMockShop({ clock: { now: () => nowMs }, deliver: respondWith(500) });
  sendPing(service);
  nowMs = Number.NaN;
  await expect(service.idle()).rejects.toThrow(RangeError);
  await service.idle();
});

describe("the address of an endpoint", () => {
  const create = (url: string) =>
    createMockService().webhooks.createEndpoint({ url, events: ["ping"] });
  it.each(
    [
      "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.127.0.1 0.0.0.0",
      "0xa000001 167772161 10.1 10.0.0.1. [::] [fc00::1] [fdff::1] [fe80::1] [febf::1]",
      "[::ffff:10.0.0.1] [::ffff:c0a8:101] receiver shop.local shop.internal",
    ].flatMap((hosts) => hosts.split(" ").map((host) => `https://${host}/`)),
  )("rejects the private address %s", (url) => {
    expect(() => create(url)).toThrow(/in a private network/);
  });

  it.each([
    ...[
      "shop.test 9.255.255.255 11.0.0.1 172.15.0.1 172.32.0.1 192.167.0.1 169.253.0.1 100.63.0.1 100.128.0.1",
      "[fc::1] [2001:db8::1] [fec0::1] 10.example localhost 127.0.0.1:8443",
    ].flatMap((hosts) => hosts.split(" ").map((host) => `https://${host}/`)),
    ..."127.0.0.1 localhost [::1] [::ffff:127.0.0.1]"
      .split(" ")
      .map((host) => `http://${host}:3000/`),
  ])("accepts the public or loopback address %s", (url) => {
    expect(create(url).secret).toMatch(/^whsec_/);
  });

  const wrongSchemes =
    "http://10.0.0.1/ http://shop.test/ http://127.0.0.1.evil.test/ ftp://127.0.0.1/ ftp://shop.test";
  it.each(wrongSchemes.split(" "))("rejects %s", (url) => {
    expect(() => create(url)).toThrow(/must be https/);
  });

  it.each(["shop.test", "https://user:pass@shop.test/", ""])("rejects the address %j", (url) => {
    expect(() => create(url)).toThrow(TypeError);
  });

  it("may be that of forwardTo by http in a private network, and no other", () => {
    const events = ["ping" as const];
    const url = "http://web:3000/webhooks";
    const { webhooks, endpoints } = createMockService({
      forwardTo: url,
      endpoints: [{ url, events }],
    });
    const id = endpoints[0]?.id ?? "";
    expect(webhooks.updateEndpoint(id, { events }).url).toBe(url);
    const sameUrl = "HTTP://web:3000/webhooks";
    expect(webhooks.updateEndpoint(id, { url: sameUrl }).url).toBe(sameUrl);
    for (const other of ["http://web:3000/", "https://10.0.0.1/"])
      expect(() => webhooks.createEndpoint({ url: other, events })).toThrow(TypeError);
    const forwardTo = "http://shop.example.com/";
    expect(() => createMockService({ forwardTo, endpoints: [{ url: forwardTo, events }] })).toThrow(
      /must be https/,
    );
  });

  it("rejects a private address in the seed, and in a change", () => {
    const endpoints = [{ url: "https://10.0.0.1/", events: ["ping" as const] }];
    expect(() => createMockService({ endpoints })).toThrow(/private network/);
    const { webhooks } = createMockService();
    const { id } = webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    expect(() => webhooks.updateEndpoint(id, { url: "https://10.0.0.1/" })).toThrow(
      /private network/,
    );
  });
});

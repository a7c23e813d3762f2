/**
 * The control API, route by route, and its errors; CONTROL.md lists every route, and no request
 * makes a route fail.
 */
import { readFileSync } from "node:fs";
import { openMockShop, receiver, toSignUp } from "@loyalty-cards/testing/mock-shop";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { manualClock } from "../src/index.ts";
import { openControlledShop, respondWith } from "./shop.ts";

it("creates templates, and lists them, also an archived one, which issues no card", async () => {
  const { get, post, call } = await openControlledShop();
  const fields = [{ key: "name", type: "name", required: true }];
  const input = { name: "Bakery", fields, tiers: [{ name: "Gold", from: 10 }] };
  const created = await post("/_mock/templates", input);
  expect(created).toMatchObject({ status: 201, body: { ...input, isArchived: false } });
  const { id } = created.body;
  const path = `/api/v1/templates/${id}/passes`;
  const issue = async () =>
    (await call("POST", path, { body: toSignUp({}, { name: "A" }) })).status;
  expect(await issue()).toBe(201);
  const archived = await post(`/_mock/templates/${id}/archive`);
  expect(archived).toMatchObject({ status: 200, body: { id, isArchived: true } });
  expect(await issue()).toBe(404);
  const { items } = await get("/_mock/templates");
  expect(items).toMatchObject([{ isArchived: false }, { ...input, id, isArchived: true }]);
  expect((await post("/_mock/templates", { id, name: "Again" })).status).toBe(422);
});

describe("cards", () => {
  it("are searched and paged, newest first", async () => {
    const { get, issue } = await openControlledShop();
    const anna = (await issue(toSignUp({ phone: "+48600100200", name: "Anna" }))).body;
    await issue(toSignUp({ email: "piotr@example.com", name: "Piotr" }, { firstName: "Piotr" }));
    const found = async (query: string) => (await get(`/_mock/cards?query=${query}`)).items.length;
    for (const query of ["anna", "600 100", "(600)-100-200", "PIOTR@", "200 anna", anna.id])
      expect(await found(query)).toBe(1);
    expect(await found("nobody")).toBe(0);
    expect(await get("/_mock/cards?limit=1")).toMatchObject({
      total: 2,
      items: [{ customer: { name: "Piotr" } }],
    });
    expect(await get(`/_mock/cards?query=${anna.customerId}`)).toMatchObject({
      total: 1,
      items: [{ customer: { phone: "+48600100200", cardIds: [anna.id], marketingConsent: false } }],
    });
  });

  it.each([
    ["Łukasz Żak", ["lukasz", "ŁUKASZ", "zak Łuk"]],
    ["Søren Straße", ["soren", "strasse", "STRASSE SØREN"]],
    ["Đorđe Petrović", ["dorde petrovic", "đorđe"]],
    ["Anna-Maria Nowak", ["anna-maria", "maria anna", "anna n"]],
  ])("are found without the diacritics of %s, as their traffic is", async (name, queries) => {
    const { get, issue } = await openControlledShop();
    for (const each of [name, "Ann Carter"])
      await issue(toSignUp({ name: each }, { firstName: each }));
    for (const list of ["cards", "traffic"])
      for (const query of queries) {
        const { items } = await get(`/_mock/${list}?query=${encodeURIComponent(query)}`);
        const holders = items.map(({ holder }: { holder: string }) => holder);
        expect([list, query, holders]).toEqual([list, query, [name]]);
      }
  });

  it("distinguish a consent that was withdrawn from one that was never given", async () => {
    const { get, call, issue } = await openControlledShop();
    const { id } = (await issue()).body;
    const read = async () => (await get(`/_mock/cards/${id}`)).customer;
    const never = { marketingConsent: false, isMarketingWithdrawn: false };
    expect(await read()).toMatchObject(never);
    for (const marketing of [true, false]) {
      await call("PUT", `/api/v1/passes/${id}/consent`, { body: { marketing } });
      const expected = { marketingConsent: marketing, isMarketingWithdrawn: !marketing };
      expect(await read()).toMatchObject(expected);
    }
  });

  it("record operations, and list them newest first", async () => {
    const { get, post, issue } = await openControlledShop();
    const { id } = (await issue()).body;
    const points = async (act: string, amount: number) =>
      (await post(`/_mock/cards/${id}/${act}`, { points: amount })).body;
    const purchase = await points("purchase", 120);
    expect(purchase).toMatchObject({
      type: "purchase",
      change: 120,
      balance: 120,
      isCancelled: false,
    });
    await points("reward", 5);
    await points("redeem", 25);
    await post(`/_mock/cards/${id}/correct`, { change: -1 });
    expect((await post(`/_mock/operations/${purchase.id}/cancel`)).status).toBe(409); // 99 - 120 is below 0
    await points("reward", 30);
    const cancelled = await post(`/_mock/operations/${purchase.id}/cancel`);
    expect(cancelled).toMatchObject({ status: 201, body: { type: "cancellation", change: -120 } });
    expect(await get(`/_mock/cards/${id}`)).toMatchObject({ loyaltyBalance: 9 });
    const history = await get(`/_mock/cards/${id}/operations?limit=2`);
    expect(history).toMatchObject({
      total: 6,
      items: [{ type: "cancellation" }, { type: "reward" }],
    });
  });

  it("are in a wallet once, until they are removed from it", async () => {
    const { get, send, issue } = await openControlledShop();
    const { id } = (await issue()).body;
    const wallet = `/_mock/cards/${id}/wallets/apple`;
    expect((await send("PUT", wallet)).status).toBe(204);
    expect((await send("PUT", wallet)).status).toBe(409);
    const held = await get(`/_mock/cards/${id}`);
    expect(held).toMatchObject({ wallets: ["apple"], customer: {} });
    expect((await send("DELETE", wallet)).status).toBe(204);
    expect(await get(`/_mock/cards/${id}`)).toMatchObject({ wallets: [] });
  });
});

describe("webhooks", () => {
  it("have a secret, are logged, and are resent", async () => {
    const inbox = receiver();
    inbox.responses.push(500);
    const { service, get, post } = await openControlledShop({ deliver: inbox.deliver });
    const chosen = { url: "https://shop.test/webhooks", events: ["ping"] };
    const made = await post("/_mock/webhooks/endpoints", chosen);
    const { id, secret } = made.body;
    expect(made).toMatchObject({ status: 201, body: { id, ...chosen } });
    expect(secret).toMatch(/^whsec_/);
    expect((await get("/_mock/webhooks/endpoints")).items).toEqual([{ id, ...chosen, secret }]);
    inbox.useSecret(secret, service);
    const sent = await post(`/_mock/webhooks/endpoints/${id}/test`);
    expect(sent).toMatchObject({ status: 202, body: { state: "pending", attempts: [] } });
    await service.idle();
    const log = await get("/_mock/traffic?kind=delivery");
    expect(log).toMatchObject({
      total: 1,
      items: [
        {
          attempts: [{ status: 500, signedWith: "service" }],
          nextAttemptAt: "2026-03-01T12:01:00.000Z",
        },
      ],
    });
    const renewed = (await post(`/_mock/webhooks/endpoints/${id}/new-secret`)).body.secret;
    inbox.useSecret(renewed, service);
    expect((await post(`/_mock/webhooks/deliveries/${sent.body.id}/resend`)).status).toBe(202);
    await service.idle();
    expect(await get(`/_mock/webhooks/deliveries/${sent.body.id}`)).toMatchObject({
      state: "delivered",
    });
    expect(renewed).not.toBe(secret);
  });
});

it("returns the secret of an endpoint, also of a seeded one; changes and deletes it", async () => {
  const secret = "whsec_only_for_development";
  const { service, get, post, send } = await openControlledShop({
    deliver: respondWith(500),
    endpoints: [{ url: "https://shop.test/webhooks", events: ["ping"], secret }],
  });
  const list = async () => (await get("/_mock/webhooks/endpoints")).items;
  const [{ id, ...seeded }] = await list();
  const secretReplacedAt = "2026-03-01T12:00:00.000Z";
  expect(seeded).toEqual({ url: "https://shop.test/webhooks", events: ["ping"], secret });
  const path = `/_mock/webhooks/endpoints/${id}`;
  const renewed = (await post(`${path}/new-secret`)).body.secret;
  expect(renewed).not.toBe(secret);
  expect(await list()).toEqual([{ id, ...seeded, secret: renewed, secretReplacedAt }]);
  await post(`${path}/test`);
  await service.idle();
  const url = "https://shop.test/moved";
  expect((await send("PATCH", path, { url })).body).toEqual({
    id,
    url,
    events: ["ping"],
    secret: renewed,
    secretReplacedAt,
  });
  const events = ["card.added", "ping"];
  const changed = { id, url, events, secret: renewed, secretReplacedAt };
  expect((await send("PATCH", path, { events })).body).toEqual(changed);
  expect(await list()).toEqual([changed]);
  const refuse = async (body: object) => (await send("PATCH", path, body)).body.detail;
  expect(await refuse({ secret: "mine" })).toContain('"secret" is not known');
  expect(await refuse({ url: "https://192.168.1.1/" })).toContain("private network");
  expect((await send("DELETE", path)).status).toBe(204);
  expect(await list()).toEqual([]);
  const [delivery] = (await get("/_mock/traffic?kind=delivery")).items;
  expect(delivery).toMatchObject({ state: "failed", endpointId: id });
  expect((await post(`/_mock/webhooks/deliveries/${delivery.id}/resend`)).status).toBe(409);
  const gone = [send("DELETE", path), send("PATCH", path, {}), post(`${path}/new-secret`)];
  for (const { status } of await Promise.all(gone)) expect(status).toBe(404);
});

it("shows the points of a card that expired, and its status", async () => {
  const { service, get, post, issue } = await openControlledShop();
  const { id } = (await issue()).body;
  await post(`/_mock/cards/${id}/purchase`, { points: 120 });
  service.cards.expire(id, { points: 30, keepBalance: true });
  service.cards.setStatus(id, "blocked");
  const kept = { loyaltyBalance: 120, loyaltyTier: "Silver", expiredPoints: 30, status: "blocked" };
  expect(await get(`/_mock/cards/${id}`)).toMatchObject({ id, ...kept });
  service.cards.expire(id, { points: 85 });
  expect(await get(`/_mock/cards/${id}`)).toMatchObject({ loyaltyBalance: 35, expiredPoints: 30 });
});

it("reads and moves the clock, and returns the attempts that were made", async () => {
  const inbox = receiver();
  inbox.responses.push(...Array.from({ length: 6 }, () => 500));
  const { service, get, post, send } = await openControlledShop({ deliver: inbox.deliver });
  const { id } = inbox.subscribe(service, ["ping"]);
  expect(await get("/_mock/clock")).toEqual({
    now: "2026-03-01T12:00:00.000Z",
    mode: "manual",
    version: expect.any(Number),
  });
  await post(`/_mock/webhooks/endpoints/${id}/test`);
  await service.idle();
  const minute = (await post("/_mock/clock/advance", { duration: "1m" })).body;
  const at = "2026-03-01T12:01:00.000Z";
  expect(minute).toMatchObject({ now: at, attempts: [{ status: 500, at }] });
  expect((await post("/_mock/clock/advance-to-next-delivery")).body).toMatchObject({
    attempts: [{ at: "2026-03-01T12:06:00.000Z" }],
    nextAttemptAt: "2026-03-01T12:36:00.000Z",
  });
  expect((await post("/_mock/clock/run-until-idle")).body.attempts).toHaveLength(3);
  const scaled = (await send("PUT", "/_mock/clock", { mode: "scaled", factor: 60 })).body;
  expect(scaled).toMatchObject({ mode: "scaled", factor: 60 });
  expect(Date.parse(scaled.now)).toBeGreaterThanOrEqual(Date.parse("2026-03-01T20:36:00.000Z"));
  expect((await send("PUT", "/_mock/clock", { mode: "system" })).status).toBe(200);
  const { status, body } = await post("/_mock/clock/advance", { duration: "1h" });
  expect([status, body.detail]).toEqual([409, expect.stringContaining('"mode": "manual"')]);
});

it("responds with the clock when its version changes, or after a second", async () => {
  const { get, issue } = await openControlledShop();
  const { version } = await get("/_mock/clock");
  const startMs = performance.now();
  expect((await get(`/_mock/clock?after=${version}`)).version).toBe(version);
  expect(performance.now() - startMs).toBeGreaterThan(800);
  const reading = get(`/_mock/clock?after=${version}`);
  await issue();
  expect((await reading).version).toBeGreaterThan(version);
});

it("resets the service", async () => {
  const { get, post, issue } = await openControlledShop();
  await issue();
  expect((await post("/_mock/reset")).status).toBe(204);
  expect((await get("/_mock/cards")).total).toBe(0);
});

it.each(["manual", "scaled"])(
  "sets a %s clock back to real time on a reset only, when it is ahead",
  async (mode) => {
    const { service, get, post, send } = await openControlledShop();
    const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
    const behind = service.clock.now();
    await post("/_mock/reset");
    expect(service.clock.now()).toBe(behind);
    await post("/_mock/clock/advance", { duration: Date.now() - behind });
    await send("PUT", "/_mock/clock", { mode });
    await post("/_mock/clock/advance", { duration: "6h" });
    await post(`/_mock/webhooks/endpoints/${id}/test`);
    const beforeMs = Date.now();
    expect((await send("PUT", "/_mock/clock", { mode: "system" })).status).toBe(409);
    await post("/_mock/reset");
    const { nextAttemptAt, ...clock } = await get("/_mock/clock");
    expect([clock.mode, nextAttemptAt]).toEqual([mode, undefined]);
    expect(Date.parse(clock.now)).toBeGreaterThanOrEqual(beforeMs);
    expect(Date.parse(clock.now)).toBeLessThan(beforeMs + 3_600_000);
  },
);

/** Both resets of a service, by their names. */
const resets: [string, (shop: Awaited<ReturnType<typeof openControlledShop>>) => unknown][] = [
  ["POST /_mock/reset", ({ post }) => post("/_mock/reset")],
  ["service.reset()", ({ service }) => service.reset()],
];

describe.each(resets)("%s", (_name, reset) => {
  it("keeps the clock that the program passed, also when it is ahead", async () => {
    const clock = manualClock();
    const shop = await openControlledShop({ clock });
    await shop.service.clock.advance("6h");
    const aheadMs = clock.now();
    await reset(shop);
    expect(shop.service.clock.now()).toBe(aheadMs);
    await shop.service.clock.advance("1h");
    expect(clock.now()).toBe(aheadMs + 3_600_000);
  });

  it("sets a clock that was set later back to real time, when it is ahead", async () => {
    const shop = await openControlledShop({ clock: manualClock() });
    shop.service.clock.set({ mode: "manual" });
    await shop.service.clock.advance("6h");
    const beforeMs = Date.now();
    await reset(shop);
    expect(shop.service.clock.setting()).toEqual({ mode: "manual" });
    expect(shop.service.clock.now()).toBeGreaterThanOrEqual(beforeMs);
    expect(shop.service.clock.now()).toBeLessThan(beforeMs + 3_600_000);
  });
});

it("rotates API keys: both are valid until one is revoked, and a reset restores those of the start", async () => {
  const { service, get, post, send, call } = await openControlledShop();
  const old = service.apiKeys.website;
  const getStatus = async (key: string) =>
    (await call("GET", "/api/v1/passes/card_none", { key })).status;
  const { status, body } = await post("/_mock/api-keys", { kind: "website" });
  expect([status, body]).toEqual([201, { kind: "website", key: expect.any(String) }]);
  expect([await getStatus(old), await getStatus(body.key)]).toEqual([404, 404]);
  expect((await get("/_mock/settings")).apiKeys.website).toBe(body.key);
  expect((await send("DELETE", `/_mock/api-keys/${old}`)).status).toBe(204);
  expect([await getStatus(old), await getStatus(body.key)]).toEqual([401, 404]);
  const kept = [{ key: service.apiKeys.full, kind: "full" }, body];
  expect(await get("/_mock/api-keys")).toEqual({ items: kept });
  await send("DELETE", `/_mock/api-keys/${body.key}`);
  expect((await get("/_mock/settings")).apiKeys).toEqual({ full: service.apiKeys.full });
  expect((await call("GET", "/api/docs", { key: null })).status).toBe(200);
  service.reset();
  expect([await getStatus(old), await getStatus(body.key)]).toEqual([404, 401]);
});

it("returns the settings that a website needs", async () => {
  const { get, service } = await openControlledShop();
  const { baseUrl, templateId } = service;
  const apiKeys = { website: "mock_website_key", full: "mock_full_key" };
  expect(await get("/_mock/settings")).toMatchObject({
    baseUrl,
    apiKeys,
    templateId,
    wallets: { first: "apple", second: "google" },
    events: expect.arrayContaining(["ping"]),
  });
});

const endpoints = "webhooks/endpoints";
const remote = { url: "https://a.test/", events: ["ping"] };
const before = { phase: "before" };

it.each<[route: string, body: unknown, status: number, detail: RegExp]>([
  ["POST cards/CARD/purchase", {}, 422, /"points" is missing/],
  ["POST cards/CARD/purchase", { points: "5" }, 422, /"points" must be of type number/],
  ["POST cards/CARD/redeem", { points: 1 }, 409, /balance is 0/],
  ["POST cards/CARD/correct", { change: 0 }, 422, /"change" must be a number other than 0/],
  ["POST cards/CARD/purchase", { point: 5 }, 422, /"point" is not known; there are points/],
  ["POST cards/CARD/purchase", [], 422, /The body must be of type object/],
  ["POST cards/card_none/purchase", { points: 1 }, 404, /no card "card_none"/],
  ["POST operations/op_none/cancel", undefined, 404, /no operation/],
  ["PUT cards/CARD/wallets/purse", undefined, 404, /no wallet "purse"; there are apple and google/],
  ["POST templates", { fields: [] }, 422, /"name" is missing/],
  ["POST templates/tpl_none/archive", undefined, 404, /no template "tpl_none"/],
  ["POST api-keys", { kind: "admin" }, 422, /"kind" must be one of website, full/],
  ["DELETE api-keys/mock_old_key", undefined, 404, /^There is no such API key\.$/],
  [
    "POST templates",
    { name: "A", fields: [{ key: "a", type: "date" }] },
    422,
    /"fields.0.type" must be one of/,
  ],
  [
    `POST ${endpoints}`,
    { ...remote, events: [] },
    422,
    /"events" must NOT have fewer than 1 items/,
  ],
  [`POST ${endpoints}`, { ...remote, url: "http://a.test/" }, 422, /https/],
  [`POST ${endpoints}/we_none/test`, undefined, 404, /no webhook endpoint/],
  ["POST webhooks/deliveries/dlv_none/resend", undefined, 404, /no delivery/],
  ["GET traffic?kind=page", undefined, 400, /kind must be one of request, delivery/],
  ["GET traffic?problems=yes", undefined, 400, /problems must be one of true, false/],
  ["GET traffic?limit=1.5", undefined, 400, /limit must be/],
  ["POST clock/advance", { duration: "soon" }, 422, /"soon" is not a duration/],
  ["PUT clock", { mode: "fast" }, 422, /"mode" must be one of/],
  ["PUT clock", { mode: "scaled", factor: 0 }, 422, /"factor" must be > 0/],
  ["POST faults", { ...before, kind: "fire" }, 422, /"kind" must be one of status/],
  ["POST faults", { kind: "reset" }, 422, /"phase" is missing/],
  ["POST faults", { ...before, kind: "reset", delayMs: 1 }, 422, /"delayMs" is not known/],
  [
    "POST faults",
    { ...before, kind: "reset", match: { operation: "pay" } },
    422,
    /"match.operation" must be one of issueCard/,
  ],
  ["DELETE faults/flt_none", undefined, 404, /no fault/],
  ["POST wait", {}, 422, /one of event, delivery and card/],
  ["POST wait", { card: {} }, 422, /"card.id" is missing/],
  ["POST wait", { event: {}, timeoutMs: 3_600_000 }, 422, /"timeoutMs" must be/],
  ["POST faults", "{", 400, /not JSON/],
  ["GET card", undefined, 404, /GET \/_mock\/cards/],
  ["POST clock", {}, 405, /GET, PUT/],
])("responds with problem details to %s %j", async (route, body, status, detail) => {
  const { send, issue } = await openControlledShop();
  const { id } = (await issue()).body;
  const [method = "", path = ""] = route.split(" ");
  const response = await send(method, `/_mock/${path.replace("CARD", id)}`, body);
  const type = response.headers.get("content-type");
  expect([response.status, type]).toEqual([status, "application/problem+json"]);
  expect(response.body.detail).toMatch(detail);
  for (const { pointer } of response.body.errors ?? []) expect(pointer).toMatch(/^(\/|$)/);
});

it.each([
  ["TypeError", (): number => JSON.parse("null").now],
  ["RangeError", () => Number.NaN], // the time has no ISO 8601
])(
  "responds 500 without the message of a %s that the caller did not cause, and logs where it was thrown",
  async (name, now) => {
    const clock = manualClock();
    const lines: string[] = [];
    const { send } = await openControlledShop({ clock, log: (line) => void lines.push(line) });
    clock.now = now;
    const { status, body } = await send("GET", "/_mock/clock");
    expect([status, body.detail]).toEqual([500, "The mock service failed."]);
    expect(lines).toEqual([
      expect.stringMatching(`^The mock service failed: ${name} at \\S+:\\d+`),
    ]);
  },
);

/** The routes that the service lists in its 404 response. */
async function routes(): Promise<string[]> {
  const { body } = await openMockShop().call("GET", "/_mock/nothing", { key: null });
  const [, list = ""] = body.detail.split("There are ");
  return list.replace(/\.$/, "").split(", ");
}

it("lists every route in CONTROL.md, and no other", async () => {
  const page = readFileSync(new URL("../CONTROL.md", import.meta.url), "utf8");
  const [, table = ""] = page.split("## Routes");
  const listed = [...(table.split("## Faults")[0]?.matchAll(/^\| (`.+?) \|/gm) ?? [])].flatMap(
    ([, cell = ""]) => {
      const [first = "", ...others] = cell
        .split(" · ")
        .map((part) => part.replaceAll("`", "").replace(/\?.*$/, ""));
      const [method, path = ""] = first.split(" ");
      const siblings = others.map((other) =>
        other.includes(" ") ? other : `${method} ${path.replace(/[^/]+$/, other)}`,
      );
      return [first, ...siblings];
    },
  );
  const named = listed.map((route) => route.replaceAll(/\{\w+\}/g, "*")).sort();
  expect(named).toEqual((await routes()).sort());
});

it("responds without a 500 to random bodies, and keeps its state", async () => {
  const writing = (await routes()).filter(
    (route) => !route.startsWith("GET") && route !== "POST /_mock/wait",
  );
  const shop = openMockShop();
  const { id } = (await shop.issue()).body;
  const names = "points change name kind phase match url events mode __proto__".split(" ");
  const likely = fc.constantFrom(...names);
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(likely, fc.jsonValue()));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...writing),
      fc.constantFrom(id, "x", "%2e%2e", "__proto__"),
      body,
      async (route, name, value) => {
        const [method = "", path = ""] = route.split(" ");
        const { status } = await shop.call(method, path.replaceAll("*", name), {
          key: null,
          body: value,
        });
        expect(status, `${route} ${JSON.stringify(value)}`).toBeLessThan(500);
      },
    ),
    { numRuns: 400 },
  );
});

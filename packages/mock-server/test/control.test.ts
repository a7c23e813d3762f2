/** The control API, route by route: what it does, and how it refuses. */
import { verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { openShop, receiver, signUp } from "./shop.ts";

const asShop = { key: null };

/** A shop whose owner works through the control API alone. */
async function openControlledShop(options: Parameters<typeof openShop>[0] = {}) {
  const shop = openShop(options);
  const get = async (path: string) => (await shop.call("GET", path, asShop)).body;
  const send = (method: string, path: string, body?: unknown) =>
    shop.call(method, path, { ...asShop, ...(body !== undefined && { body }) });
  const post = (path: string, body?: unknown) => send("POST", path, body);
  return { ...shop, get, send, post };
}

describe("API keys", () => {
  it("are listed, made and revoked", async () => {
    const { get, post, send, call } = await openControlledShop();
    expect((await get("/_mock/api-keys")).items).toMatchObject([
      { kind: "website", key: "mock_website_key" },
      { kind: "full", key: "mock_full_key" },
    ]);
    const made = await post("/_mock/api-keys", { kind: "website", name: "Shop" });
    expect(made).toMatchObject({ status: 201, body: { kind: "website", name: "Shop" } });
    const { id, key } = made.body;
    expect((await call("GET", "/api/v1/passes/card_1", { key })).status).toBe(404);
    expect((await send("DELETE", `/_mock/api-keys/${id}`)).status).toBe(204);
    expect((await call("GET", "/api/v1/passes/card_1", { key })).status).toBe(401);
    expect((await send("DELETE", `/_mock/api-keys/${id}`)).status).toBe(404);
  });
});

describe("templates", () => {
  it("are listed, made with fields and levels, and archived", async () => {
    const { get, post, call } = await openControlledShop();
    const input = {
      name: "Bakery",
      fields: [{ key: "name", type: "name", required: true }],
      tiers: [{ name: "Gold", from: 10 }],
    };
    const { status, body: template } = await post("/_mock/templates", input);
    expect([status, template]).toMatchObject([201, { ...input, isArchived: false }]);
    const issue = () =>
      call("POST", `/api/v1/templates/${template.id}/passes`, { body: signUp({}, { name: "A" }) });
    expect((await issue()).status).toBe(201);
    expect((await post(`/_mock/templates/${template.id}/archive`)).body.isArchived).toBe(true);
    expect((await issue()).status).toBe(404);
    expect((await get("/_mock/templates")).items).toHaveLength(2);
    expect((await post("/_mock/templates", { id: template.id, name: "Again" })).status).toBe(422);
  });
});

describe("cards and customers", () => {
  it("are searched, newest first, a page at a time", async () => {
    const { get, issue } = await openControlledShop();
    const anna = (await issue(signUp({ phone: "+48600100200", name: "Anna" }))).body;
    await issue(signUp({ email: "piotr@example.com", name: "Piotr" }, { firstName: "Piotr" }));
    const found = async (query: string) => (await get(`/_mock/cards?query=${query}`)).items.length;
    expect(await Promise.all(["anna", "600 100", "PIOTR@", anna.id, "nobody"].map(found))).toEqual([
      1, 1, 1, 1, 0,
    ]);
    expect(await get("/_mock/customers?query=pio")).toMatchObject({ total: 1, items: [{ name: "Piotr" }] });
    expect(await get("/_mock/cards?limit=1&offset=1")).toMatchObject({ total: 2, items: [{ id: anna.id }] });
    expect((await get(`/_mock/cards?customerId=${anna.customerId}`)).items).toHaveLength(1);
    expect(await get(`/_mock/customers/${anna.customerId}`)).toMatchObject({
      phone: "+48600100200",
      cardIds: [anna.id],
      marketingConsent: false,
    });
  });

  it("tell everything about one card, and take what happens at the till", async () => {
    const { get, post, send, issue } = await openControlledShop();
    const { id } = (await issue()).body;
    const points = async (act: string, amount: number) =>
      (await post(`/_mock/cards/${id}/${act}`, { points: amount })).body;
    const purchase = await points("purchase", 120);
    expect(purchase).toMatchObject({ type: "purchase", change: 120, balance: 120, isCancelled: false });
    await points("reward", 5);
    await points("redeem", 25);
    await post(`/_mock/cards/${id}/correct`, { change: -1 });
    expect((await post(`/_mock/operations/${purchase.id}/cancel`)).status).toBe(409); // 99 - 120 is below 0
    await points("reward", 30);
    const cancelled = await post(`/_mock/operations/${purchase.id}/cancel`);
    expect(cancelled).toMatchObject({ status: 201, body: { type: "cancellation", change: -120 } });
    expect((await send("PUT", `/_mock/cards/${id}/wallets/apple`)).status).toBe(204);
    expect((await send("PUT", `/_mock/cards/${id}/wallets/apple`)).status).toBe(409);
    expect(await get(`/_mock/cards/${id}`)).toMatchObject({
      loyaltyBalance: 9,
      wallets: ["apple"],
      customer: {},
    });
    expect((await send("DELETE", `/_mock/cards/${id}/wallets/apple`)).status).toBe(204);
    const history = await get(`/_mock/cards/${id}/operations?limit=2`);
    expect(history).toMatchObject({ total: 6, items: [{ type: "cancellation" }, { type: "reward" }] });
  });
});

describe("webhooks", () => {
  it("show a secret once, are tried, logged, and sent again", async () => {
    const answers = [500, 204];
    const secrets: string[] = [];
    const { service, get, post } = await openControlledShop({
      deliver: async (request) => {
        const rawBody = await request.text();
        const signature = request.headers.get("service-signature");
        verifyWebhookSync({ rawBody, signature, secret: secrets.at(-1) ?? "", now: service.clock.now });
        return new Response(null, { status: answers.shift() ?? 204 });
      },
    });
    const chosen = { url: "https://shop.test/webhooks", events: ["ping"] };
    const made = await post("/_mock/webhooks/endpoints", chosen);
    const { id, secret } = made.body;
    expect([made.status, made.body]).toEqual([
      201,
      { id, ...chosen, secret: expect.stringMatching(/^whsec_/) },
    ]);
    expect((await get("/_mock/webhooks/endpoints")).items).toEqual([{ id, ...chosen }]);
    secrets.push(secret);
    const sent = await post(`/_mock/webhooks/endpoints/${id}/test`);
    expect(sent).toMatchObject({ status: 202, body: { state: "pending", attempts: [] } });
    await service.idle();
    const log = await get("/_mock/webhooks/deliveries?state=pending");
    expect(log).toMatchObject({
      total: 1,
      items: [
        { attempts: [{ status: 500, signedWith: "service" }], nextAttemptAt: "2026-03-01T12:01:00.000Z" },
      ],
    });
    secrets.push((await post(`/_mock/webhooks/endpoints/${id}/new-secret`)).body.secret);
    expect((await post(`/_mock/webhooks/deliveries/${sent.body.id}/resend`)).status).toBe(202);
    await service.idle();
    expect(await get(`/_mock/webhooks/deliveries/${sent.body.id}`)).toMatchObject({ state: "delivered" });
    expect(secrets[1]).not.toBe(secrets[0]);
  });
});

it("the current signing secret of an endpoint can be read, also of a seeded one", async () => {
  const url = "https://shop.test/webhooks";
  const { get, post, send } = await openControlledShop({
    endpoints: [{ url, events: ["ping"], secret: "whsec_only_for_development" }],
  });
  const [seeded] = (await get("/_mock/webhooks/endpoints")).items;
  const path = `/_mock/webhooks/endpoints/${seeded.id}`;
  expect(await get(`${path}/secret`)).toEqual({ id: seeded.id, secret: "whsec_only_for_development" });
  const { secret } = (await post(`${path}/new-secret`)).body;
  expect(await get(`${path}/secret`)).toEqual({ id: seeded.id, secret });
  expect((await send("GET", "/_mock/webhooks/endpoints/none/secret")).status).toBe(404);
});

it("endpoints are changed and deleted", async () => {
  const { service, get, post, send } = await openControlledShop({
    deliver: () => new Response(null, { status: 500 }),
  });
  const first = { url: "https://shop.test/webhooks", events: ["ping"] };
  const { id } = (await post("/_mock/webhooks/endpoints", first)).body;
  const path = `/_mock/webhooks/endpoints/${id}`;
  await post(`${path}/test`);
  await service.idle();
  const url = "https://shop.test/moved";
  expect(await send("PATCH", path, { url })).toMatchObject({
    status: 200,
    body: { id, url, events: ["ping"] },
  });
  const events = ["card.added", "ping"];
  expect((await send("PATCH", path, { events })).body).toEqual({ id, url, events });
  expect((await get("/_mock/webhooks/endpoints")).items).toEqual([{ id, url, events }]);
  const refused = await send("PATCH", path, { url: "https://192.168.1.1/", secret: "mine" });
  expect(refused).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('"secret" is not known') },
  });
  expect((await send("PATCH", path, { url: "https://192.168.1.1/" })).body.detail).toMatch(/private network/);
  expect((await send("DELETE", path)).status).toBe(204);
  expect((await get("/_mock/webhooks/endpoints")).items).toEqual([]);
  const [delivery] = (await get("/_mock/webhooks/deliveries")).items;
  expect(delivery).toMatchObject({ state: "failed", endpointId: id });
  expect((await post(`/_mock/webhooks/deliveries/${delivery.id}/resend`)).status).toBe(409);
  for (const method of ["DELETE", "PATCH"]) {
    expect((await send(method, path, method === "PATCH" ? {} : undefined)).status).toBe(404);
  }
});

it("old purchases expire, and the status of a card is set", async () => {
  const { get, post, send, issue } = await openControlledShop();
  const { id } = (await issue()).body;
  await post(`/_mock/cards/${id}/purchase`, { points: 120 });
  expect(await post(`/_mock/cards/${id}/expire`, { points: 30, keepBalance: true })).toMatchObject({
    status: 200,
    body: { id, loyaltyBalance: 120, loyaltyTier: "Silver", expiredPoints: 30 },
  });
  expect((await post(`/_mock/cards/${id}/expire`, { points: 85 })).body).toMatchObject({
    loyaltyBalance: 35,
    loyaltyTier: null,
    expiredPoints: 30,
  });
  expect((await post(`/_mock/cards/${id}/expire`, { points: 6 })).status).toBe(409);
  expect((await post(`/_mock/cards/${id}/expire`, { points: 0 })).status).toBe(422);
  const blocked = await send("PUT", `/_mock/cards/${id}/status`, { status: "blocked" });
  expect(blocked).toMatchObject({ status: 200, body: { id, status: "blocked" } });
  expect((await get(`/_mock/cards/${id}`)).status).toBe("blocked");
  expect((await send("PUT", `/_mock/cards/${id}/status`, { status: " " })).status).toBe(422);
  expect((await send("PUT", "/_mock/cards/card_none/status", { status: "blocked" })).status).toBe(404);
});

describe("time", () => {
  it("is told, moved, and tells the attempts on the way", async () => {
    const inbox = receiver();
    inbox.answers.push(...Array.from({ length: 6 }, () => 500));
    const { service, get, post, send } = await openControlledShop({ deliver: inbox.deliver });
    const { id } = inbox.subscribe(service, ["ping"]);
    expect(await get("/_mock/clock")).toEqual({ now: "2026-03-01T12:00:00.000Z", mode: "manual" });
    await post(`/_mock/webhooks/endpoints/${id}/test`);
    await service.idle();
    const minute = (await post("/_mock/clock/advance", { duration: "1m" })).body;
    expect(minute).toMatchObject({
      now: "2026-03-01T12:01:00.000Z",
      fired: [{ status: 500, at: "2026-03-01T12:01:00.000Z" }],
    });
    const next = (await post("/_mock/clock/advance-to-next-delivery")).body;
    expect(next).toMatchObject({
      fired: [{ at: "2026-03-01T12:06:00.000Z" }],
      nextAttemptAt: "2026-03-01T12:36:00.000Z",
    });
    expect((await post("/_mock/clock/run-until-idle")).body.fired).toHaveLength(3);
    const scaled = (await send("PUT", "/_mock/clock", { mode: "scaled", factor: 60 })).body;
    expect(scaled).toMatchObject({ mode: "scaled", factor: 60 });
    expect(Date.parse(scaled.now)).toBeGreaterThanOrEqual(Date.parse("2026-03-01T20:36:00.000Z"));
  });

  it("does not move on the machine's clock, and says what to do", async () => {
    const { post, send } = await openControlledShop();
    expect((await send("PUT", "/_mock/clock", { mode: "system" })).status).toBe(200);
    const { status, body } = await post("/_mock/clock/advance", { duration: "1h" });
    expect([status, body.detail]).toEqual([409, expect.stringContaining('"mode": "manual"')]);
  });
});

it("snapshots are kept by name, and restored", async () => {
  const { get, post, issue } = await openControlledShop();
  const { id } = (await issue()).body;
  const { id: name } = (await post("/_mock/snapshots")).body;
  await post(`/_mock/cards/${id}/purchase`, { points: 5 });
  expect((await post(`/_mock/snapshots/${name}/restore`)).status).toBe(204);
  expect((await get(`/_mock/cards/${id}`)).loyaltyBalance).toBe(0);
  expect((await post("/_mock/snapshots/snp_none/restore")).status).toBe(404);
});

it("the settings tell what forms need", async () => {
  const { get } = await openControlledShop();
  expect(await get("/_mock/settings")).toMatchObject({
    wallets: { first: "apple", second: "google" },
    events: expect.arrayContaining(["ping"]),
  });
});

describe("refuses", () => {
  const endpoint = "/_mock/webhooks/endpoints";
  it.each<[string, string, string, unknown, number, RegExp]>([
    ["no points", "POST", "/_mock/cards/CARD/purchase", {}, 422, /"points" is missing/],
    [
      "points that are text",
      "POST",
      "/_mock/cards/CARD/purchase",
      { points: "5" },
      422,
      /"points" must be a number, more than 0/,
    ],
    ["no points at all", "POST", "/_mock/cards/CARD/reward", { points: 0 }, 422, /more than 0/],
    ["more than there is", "POST", "/_mock/cards/CARD/redeem", { points: 1 }, 409, /balance is 0/],
    [
      "a change of 0",
      "POST",
      "/_mock/cards/CARD/correct",
      { change: 0 },
      422,
      /"change" must be a number other than 0/,
    ],
    [
      "a member that is none",
      "POST",
      "/_mock/cards/CARD/purchase",
      { point: 5 },
      422,
      /"point" is not known; there are points/,
    ],
    ["a list as a body", "POST", "/_mock/cards/CARD/purchase", [], 422, /The body must be an object/],
    ["an unknown card", "POST", "/_mock/cards/card_none/purchase", { points: 1 }, 404, /no card "card_none"/],
    ["an unknown operation", "POST", "/_mock/operations/op_none/cancel", undefined, 404, /no operation/],
    [
      "an unknown wallet",
      "PUT",
      "/_mock/cards/CARD/wallets/purse",
      undefined,
      404,
      /no wallet "purse"; there are apple and google/,
    ],
    [
      "a kind of key that is none",
      "POST",
      "/_mock/api-keys",
      { kind: "root" },
      422,
      /"kind" must be one of website, full/,
    ],
    ["a template without a name", "POST", "/_mock/templates", { fields: [] }, 422, /"name" is missing/],
    [
      "a field of a type that is none",
      "POST",
      "/_mock/templates",
      { name: "A", fields: [{ key: "a", type: "date" }] },
      422,
      /"fields.0.type" must be one of/,
    ],
    [
      "a level without a beginning",
      "POST",
      "/_mock/templates",
      { name: "A", tiers: [{ name: "Gold" }] },
      422,
      /"tiers.0.from" is missing/,
    ],
    [
      "an endpoint without events",
      "POST",
      endpoint,
      { url: "https://a.test/", events: [] },
      422,
      /"events" must have at least 1/,
    ],
    [
      "an event that is none",
      "POST",
      endpoint,
      { url: "https://a.test/", events: ["pong"] },
      422,
      /"events.0" must be one of/,
    ],
    [
      "an address beyond this machine without TLS",
      "POST",
      endpoint,
      { url: "http://a.test/", events: ["ping"] },
      422,
      /https/,
    ],
    ["an address that is none", "POST", endpoint, { url: "here", events: ["ping"] }, 422, /is not a URL/],
    ["an unknown endpoint", "POST", `${endpoint}/we_none/test`, undefined, 404, /no webhook endpoint/],
    [
      "an unknown delivery",
      "POST",
      "/_mock/webhooks/deliveries/dlv_none/resend",
      undefined,
      404,
      /no delivery/,
    ],
    [
      "a state that is none",
      "GET",
      "/_mock/webhooks/deliveries?state=lost",
      undefined,
      400,
      /state must be one of/,
    ],
    ["a limit of 0", "GET", "/_mock/cards?limit=0", undefined, 400, /limit must be/],
    ["an offset below 0", "GET", "/_mock/cards?offset=-1", undefined, 400, /offset must be/],
    [
      "a span that is none",
      "POST",
      "/_mock/clock/advance",
      { duration: "soon" },
      422,
      /"soon" is not a duration/,
    ],
    ["a mode that is none", "PUT", "/_mock/clock", { mode: "fast" }, 422, /"mode" must be one of/],
    [
      "a factor of 0",
      "PUT",
      "/_mock/clock",
      { mode: "scaled", factor: 0 },
      422,
      /"factor" must be a number, more than 0/,
    ],
    [
      "a fault of a kind that is none",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "fire" },
      422,
      /"kind" must be one of status/,
    ],
    ["a fault without a phase", "POST", "/_mock/faults", { kind: "reset" }, 422, /"phase" is missing/],
    [
      "a status fault without a status",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "status" },
      422,
      /"status" is missing/,
    ],
    [
      "a fault with another's member",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "reset", delayMs: 1 },
      422,
      /"delayMs" is not known/,
    ],
    [
      "a fault of an operation that is none",
      "POST",
      "/_mock/faults",
      { phase: "before", kind: "reset", match: { operation: "pay" } },
      422,
      /"match.operation" must be one of issueCard/,
    ],
    ["an unknown fault", "DELETE", "/_mock/faults/flt_none", undefined, 404, /no fault/],
    ["to wait for nothing", "POST", "/_mock/wait", {}, 422, /one of event, delivery and card/],
    [
      "to wait for a card without its id",
      "POST",
      "/_mock/wait",
      { card: {} },
      422,
      /"card.id" must be a text/,
    ],
    [
      "to wait for hours",
      "POST",
      "/_mock/wait",
      { event: {}, timeoutMs: 3_600_000 },
      422,
      /"timeoutMs" must be/,
    ],
    ["an unknown world", "GET", "/_mock/cards?world=wld_none", undefined, 404, /no world "wld_none"/],
    ["to remove the first world", "DELETE", "/_mock/worlds/default", undefined, 409, /stays/],
    ["broken JSON", "POST", "/_mock/faults", "{", 400, /not JSON/],
    ["a path that is none", "GET", "/_mock/card", undefined, 404, /GET \/_mock\/cards/],
    ["a method that is none", "POST", "/_mock/clock", {}, 405, /GET, PUT/],
  ])("%s", async (_name, method, path, body, status, detail) => {
    const { call, issue } = await openControlledShop();
    const { id } = (await issue()).body;
    const answer = await call(method, path.replace("CARD", id), {
      ...asShop,
      ...(body !== undefined && { body }),
    });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
    expect(answer.body.detail).toMatch(detail);
    if (status === 422 && answer.body.errors !== undefined) {
      for (const fault of answer.body.errors) expect(fault.pointer).toMatch(/^(\/|$)/);
    }
  });
});

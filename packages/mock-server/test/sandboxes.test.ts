/** Sandboxes: isolated from each other on one server; snapshot, restore and reset. */
import { expect, it } from "vitest";
import { createMockService, manualClock } from "../src/index.ts";
import { caller, noon, openShop, receiver, signUp, template } from "./shop.ts";

it("isolates 100 parallel tests on one service", async () => {
  const { service, call } = openShop({ deliver: () => new Response(null, { status: 204 }) });
  const oneTest = async (index: number) => {
    const { body: sandbox } = await call("POST", "/_mock/sandboxes", { key: null });
    const own = caller(service.baseUrl, service.fetch, sandbox.apiKeys.website);
    const control = (method: string, path: string, body?: unknown) =>
      own(method, `${path}${path.includes("?") ? "&" : "?"}sandbox=${sandbox.id}`, {
        key: null,
        ...(body !== undefined && { body }),
      });
    const endpoint = { url: `https://shop.test/${index}`, events: ["balance.changed"] };
    await control("POST", "/_mock/webhooks/endpoints", endpoint);
    await control("POST", "/_mock/faults", {
      phase: "before",
      kind: "status",
      status: 503,
      times: 1,
      match: { operation: "getCard" },
    });
    // The same phone and the same key in every sandbox.
    const headers = { "idempotency-key": "user-1" };
    const body = signUp({ phone: "+48600100200" });
    const issued = await own("POST", `/api/v1/templates/${sandbox.templateId}/passes`, { body, headers });
    await control("POST", `/_mock/cards/${issued.body.id}/purchase`, { points: index + 1 });
    await control("POST", "/_mock/clock/advance", { duration: `${index}h` });
    const statuses = [];
    for (let round = 0; round < 2; round++)
      statuses.push((await own("GET", `/api/v1/passes/${issued.body.id}`)).status);
    const { body: cards } = await control("GET", "/_mock/cards");
    const { body: deliveries } = await control("GET", "/_mock/webhooks/deliveries");
    const { body: clock } = await control("GET", "/_mock/clock");
    return {
      id: issued.body.id,
      key: sandbox.apiKeys.website,
      statuses,
      balances: cards.items.map((card: { loyaltyBalance: number }) => card.loyaltyBalance),
      deliveries: deliveries.total,
      hours: (Date.parse(clock.now) - noon) / 3_600_000,
    };
  };
  const tests = await Promise.all(Array.from({ length: 100 }, (_, index) => oneTest(index)));
  for (const [index, { statuses, balances, deliveries, hours }] of tests.entries()) {
    expect([statuses, balances, deliveries, hours]).toEqual([[503, 200], [index + 1], 1, index]);
  }
  expect(new Set(tests.map(({ id }) => id)).size).toBe(100);
  expect((await call("GET", "/_mock/cards", { key: null })).body.total).toBe(0);
  const [first, second] = tests;
  expect((await call("GET", `/api/v1/passes/${first?.id}`, { key: second?.key ?? "" })).status).toBe(404);
});

it("begins a sandbox with the clock that the default sandbox has then", async () => {
  const { service, call } = openShop();
  service.clock.set({ mode: "scaled", factor: 3_600 });
  const { body: sandbox } = await call("POST", "/_mock/sandboxes", { key: null });
  const { body } = await call("GET", `/_mock/clock?sandbox=${sandbox.id}`, { key: null });
  expect(body).toMatchObject({ mode: "scaled", factor: 3_600 });
});

it("gives each sandbox its own templates, keys and console address, and removes it", async () => {
  const { service, call } = openShop();
  const { status, body: sandbox } = await call("POST", "/_mock/sandboxes", { key: null });
  expect([status, sandbox]).toEqual([
    201,
    {
      id: expect.stringMatching(/^sbx_/),
      baseUrl: service.baseUrl,
      apiKeys: { website: expect.any(String), full: expect.any(String) },
      templateId: template.id,
      console: `${service.baseUrl}/console?sandbox=${sandbox.id}`,
    },
  ]);
  expect((await call("GET", "/_mock/sandboxes", { key: null })).body.items).toHaveLength(2);
  const read = () => call("GET", "/api/v1/passes/card_1", { key: sandbox.apiKeys.website });
  expect((await read()).status).toBe(404);
  await call("POST", `/_mock/reset?sandbox=${sandbox.id}`, { key: null });
  expect((await read()).status).toBe(404);
  expect((await call("DELETE", `/_mock/sandboxes/${sandbox.id}`, { key: null })).status).toBe(204);
  expect((await read()).status).toBe(401);
});

it("creates a sandbox in process as another service object without the seeded endpoints", async () => {
  const service = createMockService({
    clock: manualClock(noon),
    deliver: () => new Response(null, { status: 204 }),
    endpoints: [{ url: "https://shop.test/", events: ["ping"] }],
  });
  const sandbox = service.sandboxes.create();
  expect([sandbox.endpoints, sandbox.sandboxId]).toEqual([[], expect.stringMatching(/^sbx_/)]);
  await sandbox.clock.advance("1h");
  expect([service.clock.now(), sandbox.clock.now() - noon]).toEqual([noon, 3_600_000]);
  expect(service.sandboxes.list()).toEqual([service, sandbox]);
  service.sandboxes.remove(sandbox.sandboxId);
  expect(service.sandboxes.list()).toEqual([service]);
  expect(() => service.sandboxes.remove("default")).toThrow(/default sandbox cannot be removed/);
});

it("restores everything from a snapshot, several times, whatever happens later", async () => {
  const { service, call, issue } = openShop();
  const key = { "idempotency-key": "user-1" };
  const { body } = await issue(signUp({ phone: "+48600100200" }), key);
  service.cards.purchase(body.id, { points: 5 });
  const snapshot = service.snapshot();
  for (const points of [1, 2]) {
    service.cards.purchase(body.id, { points });
    await issue();
    service.restore(snapshot);
    expect(service.cards.get(body.id).loyaltyBalance).toBe(5);
    expect((await issue(signUp(), key)).body.id).toBe(body.id);
    expect((await call("GET", `/api/v1/passes/${body.id}/operations`)).body.items).toHaveLength(1);
  }
});

it("continues pending deliveries after a restore", async () => {
  const inbox = receiver();
  inbox.responses.push(500, 500);
  const { service, issue } = openShop({ deliver: inbox.deliver });
  inbox.subscribe(service, ["balance.changed"]);
  const { body } = await issue();
  service.cards.purchase(body.id, { points: 5 });
  await service.idle();
  const snapshot = service.snapshot();
  service.reset();
  service.restore(snapshot);
  await service.clock.runUntilIdle();
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered", attempts: [{}, {}, {}] }]);
});

it("returns copies of its state", async () => {
  const { service, issue } = openShop();
  const { body } = await issue();
  service.cards.get(body.id).fieldValues["firstName"] = "Eve";
  expect(service.cards.get(body.id).fieldValues["firstName"]).toBe("Anna");
});

it("continues from the snapshot when an attempt is in progress", async () => {
  const inbox = receiver();
  const { service } = openShop({ deliver: inbox.deliver });
  const { id } = inbox.subscribe(service, ["ping"]);
  service.webhooks.sendTest(id);
  service.restore(service.snapshot());
  await service.clock.advance("1d");
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered", attempts: [{ status: 204 }] }]);
});

it("restores the templates, the endpoints and their secrets of the seed on a reset", async () => {
  const { service, call } = openShop({
    templates: [{ name: "Bakery" }],
    endpoints: [{ url: "https://shop.test/webhooks", events: ["ping"] }],
    deliver: () => new Response(null, { status: 204 }),
  });
  const [endpoint] = service.endpoints;
  const path = `/api/v1/templates/${service.templateId}/passes`;
  for (const round of [1, 2]) {
    expect((await call("POST", path, { body: signUp({}, {}) })).status, `round ${round}`).toBe(201);
    service.webhooks.sendTest(endpoint?.id ?? "");
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
    service.reset();
  }
});

it("rejects what is not a snapshot, and changes nothing", async () => {
  const { service, issue } = openShop();
  const { body } = await issue();
  const { state } = service.snapshot() as { state: object };
  const strange = [
    undefined,
    null,
    {},
    { state: null },
    { state: {} },
    { state: [] },
    { state: { ...state, cards: {} } },
  ];
  for (const snapshot of [...strange, { state: { ...state, recentEvents: undefined } }]) {
    expect(() => service.restore(snapshot as never)).toThrow("restore() takes what snapshot() returned.");
  }
  expect(service.cards.get(body.id).id).toBe(body.id);
  await service.idle();
});

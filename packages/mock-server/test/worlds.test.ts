/** Worlds: many on one server, and none sees another. */
import { expect, it } from "vitest";
import { createMockService, manualClock } from "../src/index.ts";
import { caller, noon, openShop, signUp, template } from "./shop.ts";

it("100 parallel tests on one service do not see each other", async () => {
  const { service, call } = openShop({ deliver: () => new Response(null, { status: 204 }) });
  const oneTest = async (index: number) => {
    const { body: world } = await call("POST", "/_mock/worlds", { key: null });
    const own = caller(service.baseUrl, service.fetch, world.apiKeys.website);
    const control = (method: string, path: string, body?: unknown) =>
      own(method, `${path}${path.includes("?") ? "&" : "?"}world=${world.id}`, {
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
    // The same phone and the same key in every world.
    const headers = { "idempotency-key": "user-1" };
    const body = signUp({ phone: "+48600100200" });
    const issued = await own("POST", `/api/v1/templates/${world.templateId}/passes`, { body, headers });
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
      key: world.apiKeys.website,
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

it("a world has templates, keys and a console address of its own, and can be removed", async () => {
  const { service, call } = openShop();
  const { status, body: world } = await call("POST", "/_mock/worlds", { key: null });
  expect([status, world]).toEqual([
    201,
    {
      id: expect.stringMatching(/^wld_/),
      baseUrl: service.baseUrl,
      apiKeys: { website: expect.any(String), full: expect.any(String) },
      templateId: template.id,
      console: `${service.baseUrl}/console?world=${world.id}`,
    },
  ]);
  expect((await call("GET", "/_mock/worlds", { key: null })).body.items).toHaveLength(2);
  const read = () => call("GET", "/api/v1/passes/card_1", { key: world.apiKeys.website });
  expect((await read()).status).toBe(404);
  await call("POST", `/_mock/reset?world=${world.id}`, { key: null });
  expect((await read()).status).toBe(404);
  expect((await call("DELETE", `/_mock/worlds/${world.id}`, { key: null })).status).toBe(204);
  expect((await read()).status).toBe(401);
});

it("in process a world is a service beside the first, and its seed's endpoints are nobody else's", async () => {
  const service = createMockService({
    clock: manualClock(noon),
    deliver: () => new Response(null, { status: 204 }),
    endpoints: [{ url: "https://shop.test/", events: ["ping"] }],
  });
  const world = service.worlds.create();
  expect([world.endpoints, world.worldId]).toEqual([[], expect.stringMatching(/^wld_/)]);
  await world.clock.advance("1h");
  expect([service.clock.now(), world.clock.now() - noon]).toEqual([noon, 3_600_000]);
  expect(service.worlds.list()).toEqual([service, world]);
  service.worlds.remove(world.worldId);
  expect(service.worlds.list()).toEqual([service]);
  expect(() => service.worlds.remove("default")).toThrow(/stays/);
});

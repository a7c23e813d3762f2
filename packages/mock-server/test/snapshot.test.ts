/** The state of a service: snapshot, restore and reset; services share nothing. */
import { expect, it } from "vitest";
import { noon, openShop, receiver, signUp } from "./shop.ts";

it("shares nothing between services: each has its own cards, keys of requests, clock and faults", async () => {
  const shops = Array.from({ length: 20 }, () =>
    openShop({ deliver: () => new Response(null, { status: 204 }) }),
  );
  const shown = await Promise.all(
    shops.map(async ({ service, issue, call }, index) => {
      service.faults.add({
        phase: "before",
        kind: "status",
        status: 503,
        times: 1,
        match: { operation: "getCard" },
      });
      service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["balance.changed"] });
      const { id } = (await issue(signUp({ phone: "+48600100200" }), { "idempotency-key": "user-1" })).body;
      service.cards.purchase(id, { points: index + 1 });
      await service.clock.advance(`${index}h`);
      const read = async () => (await call("GET", `/api/v1/passes/${id}`)).status;
      const statuses = [await read(), await read()];
      const { loyaltyBalance } = service.cards.get(id);
      return {
        id,
        statuses,
        loyaltyBalance,
        deliveries: service.webhooks.deliveries().length,
        nowMs: service.clock.now(),
      };
    }),
  );
  for (const [index, { id: _, ...each }] of shown.entries())
    expect(each).toEqual({
      statuses: [503, 200],
      loyaltyBalance: index + 1,
      deliveries: 1,
      nowMs: noon + index * 3_600_000,
    });
  expect(new Set(shown.map(({ id }) => id)).size).toBe(20);
});

it("restores everything from a snapshot, several times, whatever happens later, also to copies", async () => {
  const { service, call, issue } = openShop();
  const key = { "idempotency-key": "user-1" };
  const { body } = await issue(signUp({ phone: "+48600100200" }), key);
  service.cards.purchase(body.id, { points: 5 });
  const snapshot = service.snapshot();
  for (const points of [1, 2]) {
    service.cards.purchase(body.id, { points });
    service.cards.get(body.id).fieldValues["firstName"] = "Eve";
    await issue();
    service.restore(snapshot);
    const { loyaltyBalance, fieldValues } = service.cards.get(body.id);
    expect([loyaltyBalance, fieldValues["firstName"]]).toEqual([5, "Anna"]);
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
  const damaged = [{}, [], { ...state, cards: {} }, { ...state, recentEvents: undefined }];
  for (const snapshot of [
    undefined,
    null,
    {},
    { state: null },
    ...damaged.map((each) => ({ state: each })),
  ]) {
    expect(() => service.restore(snapshot as never)).toThrow("restore() takes what snapshot() returned.");
  }
  expect(service.cards.get(body.id).id).toBe(body.id);
  await service.idle();
});

/**
 * The state of a service: snapshot, restore and reset; event ids that stay unique and sorted;
 * services share nothing.
 */

import {
  noon,
  openMockShop,
  receiver,
  shopTemplate,
  toSignUp,
} from "@loyalty-cards/testing/mock-shop";
import { createFolder } from "@loyalty-cards/testing/resources";
import { expect, it } from "vitest";
import {
  createMockService,
  type MockService,
  manualClock,
  type TemplateInput,
} from "../src/index.ts";
import { openServer } from "./integration/command.ts";
import { issueRequest, respondWith } from "./shop.ts";

it("shares nothing between services: each has its own cards, keys of requests, clock and faults", async () => {
  const shops = Array.from({ length: 20 }, () => openMockShop({ deliver: respondWith(204) }));
  const shown = await Promise.all(
    shops.map(async ({ service, issue, call }, index) => {
      const fault = { phase: "before", kind: "status", status: 503, times: 1 } as const;
      service.faults.add({ ...fault, match: { operation: "getCard" } });
      service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["balance.changed"] });
      const { id } = (
        await issue(toSignUp({ phone: "+48600100200" }), { "idempotency-key": "user-1" })
      ).body;
      service.cards.purchase(id, { points: index + 1 });
      await service.clock.advance(`${index}h`);
      const read = async () => (await call("GET", `/api/v1/passes/${id}`)).status;
      const statuses = [await read(), await read()];
      const deliveries = service.webhooks.deliveries().length;
      return [id, statuses, service.cards.get(id).loyaltyBalance, deliveries, service.clock.now()];
    }),
  );
  for (const [index, [, ...each]] of shown.entries())
    expect(each).toEqual([[503, 200], index + 1, 1, noon + index * 3_600_000]);
  expect(new Set(shown.map(([id]) => id)).size).toBe(20);
});

it("restores everything from a snapshot, several times, whatever happens later, also to copies", async () => {
  const { service, call, issue } = openMockShop();
  const key = { "idempotency-key": "user-1" };
  const { body } = await issue(toSignUp({ phone: "+48600100200" }), key);
  service.cards.purchase(body.id, { points: 5 });
  const snapshot = service.snapshot();
  for (const points of [1, 2]) {
    service.cards.purchase(body.id, { points });
    service.cards.get(body.id).fieldValues["firstName"] = "Eve";
    await issue();
    service.restore(snapshot);
    const { loyaltyBalance, fieldValues } = service.cards.get(body.id);
    expect([loyaltyBalance, fieldValues["firstName"]]).toEqual([5, "Anna"]);
    expect((await issue(toSignUp(), key)).body.id).toBe(body.id);
    expect((await call("GET", `/api/v1/passes/${body.id}/operations`)).body.items).toHaveLength(1);
  }
});

it.each([undefined, {}, { state: {} }, JSON.parse(JSON.stringify(createMockService().snapshot()))])(
  "rejects the restore of a value that is not a snapshot, and keeps its state: %#",
  async (value) => {
    const { service, issue } = openMockShop();
    const { id } = (await issue()).body;
    expect(() => service.restore(value as never)).toThrow(
      "restore takes a snapshot of service.snapshot()",
    );
    expect(service.cards.get(id)).toMatchObject({ id });
  },
);

it("continues pending deliveries after a restore", async () => {
  const inbox = receiver();
  inbox.responses.push(500, 500);
  const { service, issue } = openMockShop({ deliver: inbox.deliver });
  inbox.subscribe(service, ["balance.changed"]);
  const { body } = await issue();
  service.cards.purchase(body.id, { points: 5 });
  await service.idle();
  const snapshot = service.snapshot();
  service.reset();
  service.restore(snapshot);
  await service.clock.runUntilIdle();
  expect(service.webhooks.deliveries()).toMatchObject([
    { state: "delivered", attempts: [{}, {}, {}] },
  ]);
});

it("continues from the snapshot when an attempt is in progress", async () => {
  const inbox = receiver();
  const { service } = openMockShop({ deliver: inbox.deliver });
  service.webhooks.sendTest(inbox.subscribe(service, ["ping"]).id);
  service.restore(service.snapshot());
  await service.clock.advance("1d");
  expect(service.webhooks.deliveries()).toMatchObject([
    { state: "delivered", attempts: [{ status: 204 }] },
  ]);
});

it("restores the templates, the endpoints and their secrets of the seed on a reset", async () => {
  const { service, call } = openMockShop({
    templates: [{ id: undefined, name: "Bakery" } as object as TemplateInput],
    endpoints: [{ url: "https://shop.test/webhooks", events: ["ping"] }],
    deliver: respondWith(204),
  });
  const [endpoint] = service.endpoints;
  const path = `/api/v1/templates/${service.templateId}/passes`;
  for (const round of [1, 2]) {
    expect((await call("POST", path, { body: toSignUp({}, {}) })).status, `round ${round}`).toBe(
      201,
    );
    service.webhooks.sendTest(endpoint?.id ?? "");
    await service.idle();
    expect(service.webhooks.deliveries()).toMatchObject([{ state: "delivered" }]);
    service.reset();
  }
});

/** Makes this many events, and returns their ids in the order of their creation. */
async function makeEvents(service: MockService, count: number): Promise<string[]> {
  const { id } = (await (await service.fetch(issueRequest(service))).json()) as { id: string };
  const operations = Array.from(
    { length: count },
    () => service.cards.purchase(id, { points: 0.01 }).id,
  );
  const events = await Promise.all(
    operations.map((operation) =>
      service.waitFor({ event: { data: { operation: { id: operation } } } }),
    ),
  );
  return events.map(([event]) => event?.id as string);
}

function expectSorted(ids: readonly string[]): void {
  expect([...ids].sort()).toEqual(ids); // by code units, as COLLATE "C" and < do
  expect([...ids].sort(new Intl.Collator("en").compare)).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
}

it("sorts event ids by creation within one millisecond, and creates different ones in services with the same time", async () => {
  const services = [openMockShop().service, openMockShop().service, openMockShop().service];
  const ids = await Promise.all(services.map((each) => makeEvents(each, 100)));
  expect(new Set(ids.flat()).size).toBe(300);
  for (const [index, service] of services.entries()) {
    await service.clock.advance(1);
    expectSorted([...(ids[index] ?? []), ...(await makeEvents(service, 40))]);
  }
});

it("sorts event ids by creation when the clock is set back, starts before 1970, or is beyond the year 5188", async () => {
  for (const startMs of [-5_000_000, noon, 36 ** 9 - 2, 8.64e15 - 10_000]) {
    let nowMs = startMs;
    // Without the validation of openMockShop(): OpenAPI has no dates beyond the year 9999.
    const service = createMockService({ templates: [shopTemplate], clock: { now: () => nowMs } });
    const ids: string[] = [];
    for (const stepMs of [0, 1, -4_000, 2, 0, 4_002]) {
      nowMs += stepMs;
      ids.push(...(await makeEvents(service, 3)));
    }
    expectSorted(ids);
  }
});

it("continues event ids after a reset, an earlier snapshot, and a snapshot of a service that is ahead", async () => {
  const { service } = openMockShop();
  const { service: ahead } = openMockShop({ clock: manualClock(noon + 60_000) });
  const ids = await makeEvents(service, 3);
  const snapshot = service.snapshot();
  ids.push(...(await makeEvents(service, 3)));
  service.restore(snapshot);
  ids.push(...(await makeEvents(service, 3)));
  service.reset();
  ids.push(...(await makeEvents(service, 3)), ...(await makeEvents(ahead, 3)));
  service.restore(ahead.snapshot());
  ids.push(...(await makeEvents(service, 3)));
  expectSorted(ids);
});

it("continues event ids after a restart with a data file, also after a reset", async () => {
  const dataFile = `${createFolder()}/data.json`;
  const ids: string[] = [];
  for (const shouldReset of [false, true, false]) {
    const { service, close } = await openServer({ dataFile, clock: manualClock(noon) });
    ids.push(...(await makeEvents(service, 3)));
    if (shouldReset) service.reset();
    await close();
  }
  expectSorted(ids);
});

/** Event ids: unique, and sorted in the order of their creation, whatever the clock does. */
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { createMockService, type MockService, manualClock } from "../src/index.ts";
import { temporaryFolder } from "./integration/command.ts";
import { noon, openShop, signUp, template } from "./shop.ts";

/** Makes this many events, and returns their ids in the order of their creation. */
async function makeEvents(service: MockService, count: number): Promise<string[]> {
  const response = await service.fetch(
    new Request(`${service.baseUrl}/api/v1/templates/${service.templateId}/passes`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.apiKeys.full}`, "content-type": "application/json" },
      body: JSON.stringify(signUp()),
    }),
  );
  const { id } = (await response.json()) as { id: string };
  const operations = Array.from({ length: count }, () => service.cards.purchase(id, { points: 0.01 }).id);
  const events = await Promise.all(
    operations.map((operation) => service.waitFor({ event: { data: { operation: { id: operation } } } })),
  );
  return events.map(([event]) => event?.id as string);
}

function expectSorted(ids: readonly string[]): void {
  expect([...ids].sort()).toEqual(ids); // by code units, as COLLATE "C" and < do
  expect([...ids].sort(new Intl.Collator("en").compare)).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
}

it("sorts event ids by creation within one millisecond of a clock that stands still", async () => {
  const { service } = openShop();
  const ids = await makeEvents(service, 200);
  expectSorted(ids);
  await service.clock.advance(1);
  expectSorted([...ids, ...(await makeEvents(service, 40))]);
});

it("sorts event ids by creation when the clock is set back, starts before 1970, or is beyond the year 5188", async () => {
  for (const startMs of [-5_000_000, noon, 36 ** 9 - 2, 8.64e15 - 10_000]) {
    let nowMs = startMs;
    // Without the validation of openShop(): OpenAPI has no dates beyond the year 9999.
    const service = createMockService({ templates: [template], clock: { now: () => nowMs } });
    const ids: string[] = [];
    for (const stepMs of [0, 1, -4_000, 2, 0, 4_002]) {
      nowMs += stepMs;
      ids.push(...(await makeEvents(service, 3)));
    }
    expectSorted(ids);
  }
});

it("continues event ids after a reset, an earlier snapshot, and a snapshot of a service that is ahead", async () => {
  const { service } = openShop();
  const { service: ahead } = openShop({ clock: manualClock(noon + 60_000) });
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

it("creates different event ids in services whose clocks have the same time", async () => {
  const services = [openShop().service, openShop().service, openShop().service];
  const ids = await Promise.all(services.map((each) => makeEvents(each, 50)));
  for (const own of ids) expectSorted(own);
  expect(new Set(ids.flat()).size).toBe(150);
});

it("continues event ids after a restart with a data file, also after a reset", async () => {
  const dataFile = `${temporaryFolder()}/data.json`;
  const ids: string[] = [];
  for (const shouldReset of [false, true, false]) {
    const server = await startMockServer({ dataFile, clock: manualClock(noon), templates: [template] });
    onTestFinished(server.close);
    ids.push(...(await makeEvents(server.service, 3)));
    if (shouldReset) server.service.reset();
    await server.close();
  }
  expectSorted(ids);
});

it("sorts event ids by creation with a custom generateId too", async () => {
  let count = 0;
  const service = createMockService({
    clock: manualClock(noon),
    templates: [template],
    testing: { generateId: (prefix) => `${prefix}_${count++}` },
  });
  expectSorted(await makeEvents(service, 20));
});

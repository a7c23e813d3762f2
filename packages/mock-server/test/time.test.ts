/** Clocks: scaled clocks, changing the clock of a running service, and the queue of due items. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { createDueQueue } from "../src/delivery/dispatcher.ts";
import { createMockService, manualClock, scaledClock } from "../src/index.ts";
import { noon, openShop, receiver } from "./shop.ts";

const failing = () => new Response(null, { status: 500 });

it("runs a scaled clock faster than the machine's, from its start and only forward", () => {
  const clock = scaledClock({ factor: 1_000_000, startAt: noon });
  const before = clock.now();
  expect(before).toBeGreaterThanOrEqual(noon);
  while (clock.now() === before); // a microsecond of the machine is a second
  clock.moveTo(noon + 86_400_000_000);
  expect(clock.now()).toBeGreaterThanOrEqual(noon + 86_400_000_000);
  clock.moveTo(noon); // has passed
  expect(clock.now()).toBeGreaterThanOrEqual(noon + 86_400_000_000);
  expect(() => clock.moveTo(Number.NaN)).toThrow(/cannot move back/);
  for (const factor of [0, -1, Number.NaN, 2_000_000])
    expect(() => scaledClock({ factor })).toThrow(/factor/);
  expect(() => scaledClock({ startAt: "soon" })).toThrow(/not a date/);
});

it("makes all retries on a scaled clock without a call", async () => {
  const service = createMockService({ clock: scaledClock({ factor: 1_000_000 }), deliver: failing });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  const [failed] = await service.waitFor({ delivery: { state: "failed" } });
  expect(failed?.attempts).toHaveLength(6);
});

it("moves a scaled clock, and returns the attempts that were made by the movement", async () => {
  const service = createMockService({ clock: scaledClock(), deliver: failing });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  const made = await service.clock.advance("1m");
  service.webhooks.sendTest(id);
  await service.idle();
  expect(await service.clock.advance("7m")).toHaveLength(2);
  expect(made).toEqual([]); // none is added later
  expect(await service.clock.runUntilIdle()).toHaveLength(3);
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "failed" }]);
});

it("replaces the clock while deliveries are pending, and continues from its time", async () => {
  const inbox = receiver();
  inbox.responses.push(500);
  const { service } = openShop({ deliver: inbox.deliver });
  const { id } = inbox.subscribe(service, ["ping"]);
  service.webhooks.sendTest(id);
  await service.idle();
  expect(service.clock.setting()).toEqual({ mode: "manual" });
  expect(service.clock.nextAttemptAt()).toBe(noon + 60_000);
  service.clock.set({ mode: "scaled", factor: 100_000 });
  await service.waitFor({ delivery: { state: "delivered" } });
  service.clock.set({ mode: "manual" });
  const stopped = service.clock.now();
  expect(stopped).toBeGreaterThanOrEqual(noon + 60_000);
  await service.clock.advance("1d");
  expect(service.clock.now()).toBe(stopped + 86_400_000);
});

it("ends a movement when the clock is set meanwhile", async () => {
  const { service } = openShop({
    deliver() {
      service.clock.set({ mode: "manual" });
      return new Response(null, { status: 500 });
    },
  });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  await expect(service.clock.advance("6h")).rejects.toThrow("The clock was set while it was moved");
  service.webhooks.deleteEndpoint(id);
  await service.clock.advance("6h");
});

it("moves a clock that runs past the time that it was asked for", async () => {
  const { service } = openShop({
    clock: scaledClock({ factor: 1_000_000 }),
    deliver: () => new Response(null, { status: 204 }),
  });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  for (let count = 0; count < 50; count++) {
    service.webhooks.sendTest(id);
    await service.clock.advance("1m");
  }
});

it("rejects the machine's clock when the service is ahead of it", async () => {
  const { service } = openShop({ clock: scaledClock() });
  await service.clock.advance("1d");
  expect(() => service.clock.set({ mode: "system" })).toThrow(/ahead/);
  expect(() => service.clock.set({ mode: "sideways" as never })).toThrow(/sideways/);
});

it("rejects times after the year 9999, and continues", async () => {
  const { service, call, issue } = openShop();
  const advance = () => call("POST", "/_mock/clock/advance", { body: { duration: "364000d" }, key: null });
  for (let count = 0; count < 8; count++) expect((await advance()).status).toBe(200);
  for (let count = 0; count < 2; count++) {
    const beyond = await advance();
    expect([beyond.status, beyond.body.detail]).toEqual([409, "The clock cannot go beyond the year 9999."]);
  }
  expect((await issue()).status).toBe(201);
  expect(service.clock.now()).toBeLessThan(Date.parse("9999-12-31T23:59:59.999Z"));
  for (const atMs of [8.64e15, Number.POSITIVE_INFINITY]) {
    expect(() => manualClock(noon).moveTo(atMs)).toThrow(/year 9999/);
    expect(() => manualClock(atMs)).toThrow(/year 9999/);
  }
});

it("returns items in the order of their time, in whatever order they were added", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (times) => {
      const queue = createDueQueue<[number, number]>();
      expect([queue.next(), queue.take()]).toEqual([undefined, undefined]);
      for (const [index, dueAtMs] of times.entries()) queue.add([dueAtMs, index], dueAtMs);
      if (times.length > 0) expect(queue.next()?.dueAtMs).toBe(Math.min(...times));
      const taken: [number, number][] = [];
      for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
      const expected = times.map((dueAtMs, index): [number, number] => [dueAtMs, index]);
      expect(taken).toEqual(expected.sort(([a, i], [b, j]) => a - b || i - j));
    }),
  );
});

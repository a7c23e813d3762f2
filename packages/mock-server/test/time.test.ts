/**
 * Clocks: scaled clocks, changing the clock of a running service, the queue of due items; and
 * waitFor.
 */

import { noon, openMockShop, receiver } from "@loyalty-cards/testing/mock-shop";
import { expect, it, onTestFinished, vi } from "vitest";
import { defaultTimeoutMs } from "../src/control/wait-for.ts";
import { createMockService, manualClock, scaledClock, WaitTimeoutError } from "../src/index.ts";
import { respondWith, sendPing } from "./shop.ts";

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
  const service = createMockService({
    clock: scaledClock({ factor: 1_000_000 }),
    deliver: respondWith(500),
  });
  sendPing(service);
  const [failed] = await service.waitFor({ delivery: { state: "failed" } });
  expect(failed?.attempts).toHaveLength(6);
});

it("retries on the machine's clock under fake timers that begin after the service", async () => {
  const service = createMockService({ deliver: respondWith(500) });
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  sendPing(service);
  await service.idle();
  await vi.advanceTimersByTimeAsync(60_000);
  await service.idle();
  expect(service.webhooks.deliveries()[0]?.attempts).toHaveLength(2);
});

it("waits in real time under fake timers, also those of Jest, which fake microtasks", async () => {
  const service = createMockService({ deliver: respondWith(204) });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "queueMicrotask"] });
  onTestFinished(() => void vi.useRealTimers());
  const waiting = service.waitFor({ event: { type: "ping" } });
  sendPing(service);
  expect(await waiting).toHaveLength(1);
  const never = service.waitFor({ card: { id: "card_1" } }, { timeoutMs: 1 });
  await expect(never).rejects.toThrow("did not match within 1 ms");
});

it("says what did not match before the five seconds of a test in Vitest and Jest are over", () => {
  expect(defaultTimeoutMs).toBeLessThan(5_000);
});

it("moves a scaled clock, and returns the attempts that were made by the movement", async () => {
  const service = createMockService({ clock: scaledClock(), deliver: respondWith(500) });
  const made = await service.clock.advance("1m");
  sendPing(service);
  await service.idle();
  expect(await service.clock.advance("7m")).toHaveLength(2);
  expect(made).toEqual([]); // none is added later
  expect(await service.clock.runUntilIdle()).toHaveLength(3);
  expect(service.webhooks.deliveries()).toMatchObject([{ state: "failed" }]);
});

it("replaces the clock while deliveries are pending, and continues from its time", async () => {
  const inbox = receiver();
  inbox.responses.push(500);
  const { service } = openMockShop({ deliver: inbox.deliver });
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
  const { service } = openMockShop({
    deliver() {
      service.clock.set({ mode: "manual" });
      return new Response(null, { status: 500 });
    },
  });
  const { id } = sendPing(service);
  await expect(service.clock.advance("6h")).rejects.toThrow("The clock was set while it was moved");
  service.webhooks.deleteEndpoint(id);
  await service.clock.advance("6h");
});

it("moves a clock that runs past the time that it was asked for", async () => {
  const { service } = openMockShop({
    clock: scaledClock({ factor: 1_000_000 }),
    deliver: respondWith(204),
  });
  for (let count = 0; count < 50; count++) {
    sendPing(service);
    await service.clock.advance("1m");
  }
  expect(service.webhooks.deliveries({ state: "delivered" })).toHaveLength(50);
});

it("rejects the machine's clock when the service is ahead of it", async () => {
  const { service } = openMockShop({ clock: scaledClock() });
  await service.clock.advance("1d");
  expect(() => service.clock.set({ mode: "system" })).toThrow(
    /ahead of real time, .*: use manual or scaled, or reset the service \(a clock that the program/,
  );
  expect(() => service.clock.set({ mode: "sideways" as never })).toThrow(/sideways/);
});

it("rejects times after the year 9999, and continues", async () => {
  const { service, call, issue } = openMockShop();
  const advance = () =>
    call("POST", "/_mock/clock/advance", { body: { duration: "364000d" }, key: null });
  for (let count = 0; count < 8; count++) expect((await advance()).status).toBe(200);
  for (let count = 0; count < 2; count++) {
    const beyond = await advance();
    expect([beyond.status, beyond.body.detail]).toEqual([
      409,
      "The clock cannot go beyond the year 9999.",
    ]);
  }
  expect((await issue()).status).toBe(201);
  expect(service.clock.now()).toBeLessThan(Date.parse("9999-12-31T23:59:59.999Z"));
  for (const atMs of [8.64e15, Number.POSITIVE_INFINITY]) {
    expect(() => manualClock(noon).moveTo(atMs)).toThrow(/year 9999/);
    expect(() => manualClock(atMs)).toThrow(/year 9999/);
  }
});

it("rejects another mode when the program's own clock is after the year 9999", async () => {
  const own = { now: () => Date.parse("+010000-01-01T00:00:00Z") };
  const service = createMockService({ clock: own });
  for (const mode of ["manual", "scaled", "system"] as const)
    expect(() => service.clock.set({ mode })).toThrow(
      expect.objectContaining({ name: "ConflictError", message: expect.stringContaining("9999") }),
    );
});

it("makes attempts in the order of their time, in whatever order they became due", async () => {
  const sentAtMs: number[] = [];
  const { service } = openMockShop({
    deliver() {
      sentAtMs.push(service.clock.now());
      return new Response(null, { status: 500 });
    },
  });
  const { id } = sendPing(service);
  for (const pause of ["50s", "7m", "10s", "1ms"] as const) {
    await service.clock.advance(pause);
    service.webhooks.sendTest(id);
  }
  await service.clock.runUntilIdle();
  expect(sentAtMs).toHaveLength(5 * 6);
  expect(sentAtMs).toEqual([...sentAtMs].sort((a, b) => a - b));
});

async function openWaitingShop() {
  const shop = openMockShop({ deliver: respondWith(204) });
  const { id } = (await shop.issue()).body;
  return { ...shop, cardId: id as string };
}

it("resolves with what happened before the call, also a test event", async () => {
  const { service, cardId } = await openWaitingShop();
  service.cards.purchase(cardId, { points: 7 });
  const [event] = await service.waitFor({
    event: { type: "balance.changed", data: { passId: cardId } },
  });
  expect(event?.data).toMatchObject({ balance: 7, operation: { type: "purchase" } });
  sendPing(service);
  expect(await service.waitFor({ event: { type: "ping" } })).toHaveLength(1);
});

it("waits for an event, several events, the state of a card, and a delivery", async () => {
  const { service, cardId } = await openWaitingShop();
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["tier.changed"] });
  const waits = Promise.all([
    service.waitFor({ event: { type: "tier.changed", data: { tier: "Gold" } } }),
    service.waitFor({ event: { type: "balance.changed" }, count: 2 }),
    service.waitFor({ card: { id: cardId, loyaltyTier: "Gold" } }),
    service.waitFor({ delivery: { type: "tier.changed", state: "delivered" } }),
  ]);
  service.cards.purchase(cardId, { points: 7 });
  service.cards.purchase(cardId, { points: 100 });
  const [tier, balances, cards, deliveries] = await waits;
  expect([tier, balances.length, cards, deliveries]).toMatchObject([
    [{ data: { previous: null } }],
    2,
    [{ loyaltyBalance: 107 }],
    [{ attempts: [{ status: 204 }] }],
  ]);
});

it("rejects a wait that does not match with what happened instead, and one that is aborted", async () => {
  const { service, cardId } = await openWaitingShop();
  service.cards.purchase(cardId, { points: 7 });
  const wait = service.waitFor({ event: { type: "tier.changed" } }, { timeoutMs: 1 });
  await expect(wait).rejects.toThrow(WaitTimeoutError);
  await expect(wait).rejects.toThrow(
    /"tier.changed".* within 1 ms\. The newest events: balance.changed;/,
  );
  const noEndpoint = "the newest deliveries: none. No endpoint has this event: use createEndpoint.";
  const delivery = { type: "balance.changed" } as const;
  await expect(service.waitFor({ delivery }, { timeoutMs: 1 })).rejects.toThrow(noEndpoint);
  const failing = createMockService({ deliver: respondWith(401) });
  sendPing(failing);
  await failing.idle();
  await expect(
    failing.waitFor({ delivery: { state: "delivered" } }, { timeoutMs: 1 }),
  ).rejects.toThrow(/the newest deliveries: ping pending \(last attempt: 401\)\.$/);
  const reason = new Error("enough");
  const aborted = service.waitFor(
    { event: { type: "ping" } },
    { signal: AbortSignal.abort(reason) },
  );
  await expect(aborted).rejects.toBe(reason);
});

it("responds 408 over HTTP when nothing matches, and 200 when it matches", async () => {
  const { call, service, cardId } = await openWaitingShop();
  const wait = (body: unknown) => call("POST", "/_mock/wait", { body, key: null });
  const nothing = await wait({ card: { id: cardId, loyaltyBalance: 1 }, timeoutMs: 1 });
  expect([nothing.status, nothing.body.title]).toEqual([408, "Request Timeout"]);
  const coming = wait({ card: { id: cardId, loyaltyBalance: 1 } });
  service.cards.purchase(cardId, { points: 1 });
  expect(await coming).toMatchObject({ status: 200, body: { items: [{ id: cardId }] } });
});

/** An object in an object, this many levels deep. */
function nested(levels: number): Record<string, unknown> {
  let value = {};
  for (let level = 1; level < levels; level++) value = { value };
  return value;
}

it("rejects a condition that is nested too deeply, over HTTP and in process", async () => {
  const { call, service } = await openWaitingShop();
  const wait = async (levels: number) => {
    const body = `{"event":{"data":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}},"timeoutMs":1}`;
    return (await call("POST", "/_mock/wait", { body, key: null })).status;
  };
  expect([await wait(50_000), await wait(63), await wait(62)]).toEqual([400, 400, 408]);
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  for (const data of [nested(63), nested(50_000), circular]) {
    await expect(service.waitFor({ event: { data } })).rejects.toThrow(/deeper than 64 levels/);
  }
  await expect(service.waitFor({ event: { data: nested(62) } }, { timeoutMs: 1 })).rejects.toThrow(
    WaitTimeoutError,
  );
});

it("rejects an invalid condition with the name of the member", async () => {
  const { service } = await openWaitingShop();
  const wait = (condition: unknown, options = {}) =>
    service.waitFor(condition as { event: object }, options);
  await expect(wait({ event: {}, count: Number.NaN })).rejects.toThrow(
    /"count" must be of type integer/,
  );
  await expect(wait({ event: { tipe: "ping" } })).rejects.toThrow(/"event.tipe" is not known/);
  await expect(wait({ card: null })).rejects.toThrow(/"card" must be of type object/);
  await expect(wait(null)).rejects.toThrow(/^The condition must be of type object/);
  for (const timeoutMs of [Number.NaN, -1, Number.POSITIVE_INFINITY, 2 ** 31]) {
    await expect(wait({ event: {} }, { timeoutMs })).rejects.toThrow(
      /"timeoutMs" must be a number/,
    );
  }
});

/** waitFor: events, deliveries and cards, before and after the call, and timeouts. */
import { expect, it } from "vitest";
import { WaitTimeoutError } from "../src/index.ts";
import { openShop } from "./shop.ts";

const deliver = () => new Response(null, { status: 204 });

async function openWaitingShop() {
  const shop = openShop({ deliver });
  const { id } = (await shop.issue()).body;
  return { ...shop, cardId: id as string };
}

it("resolves with what happened before the call, also a test event", async () => {
  const { service, cardId } = await openWaitingShop();
  service.cards.purchase(cardId, { points: 7 });
  const [event] = await service.waitFor({ event: { type: "balance.changed", data: { passId: cardId } } });
  expect(event?.data).toMatchObject({ balance: 7, operation: { type: "purchase" } });
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
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
  await expect(wait).rejects.toThrow(/"tier.changed".* within 1 ms\. The newest events: balance.changed;/);
  const reason = new Error("enough");
  const aborted = service.waitFor({ event: { type: "ping" } }, { signal: AbortSignal.abort(reason) });
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
  const text = (levels: number) =>
    `{"event":{"data":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}},"timeoutMs":1}`;
  for (const levels of [63, 10_000, 50_000]) {
    const refused = await call("POST", "/_mock/wait", { body: text(levels), key: null });
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: "The body is nested deeper than 64 levels." },
    });
  }
  expect((await call("POST", "/_mock/wait", { body: text(62), key: null })).status).toBe(408);
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
  const wait = (condition: unknown, options = {}) => service.waitFor(condition as { event: object }, options);
  await expect(wait({ event: {}, count: Number.NaN })).rejects.toThrow(/"count" must be a whole number/);
  await expect(wait({ event: { tipe: "ping" } })).rejects.toThrow(/"event.tipe" is not known/);
  await expect(wait({ card: null })).rejects.toThrow(/"card" must be an object/);
  await expect(wait(null)).rejects.toThrow(/must be an object/);
  for (const timeoutMs of [Number.NaN, -1, Number.POSITIVE_INFINITY, 2 ** 31]) {
    await expect(wait({ event: {} }, { timeoutMs })).rejects.toThrow(/"timeoutMs" must be a number/);
  }
});

it("rejects the wait, without a crash, when a member cannot be read later", async () => {
  const { service, cardId } = await openWaitingShop();
  let isReadable = true;
  const data = {
    get passId() {
      if (isReadable) return "card_of_nobody";
      throw new Error("gone");
    },
  };
  const wait = service.waitFor({ event: { data } });
  isReadable = false;
  service.cards.purchase(cardId, { points: 1 });
  await expect(wait).rejects.toThrow("gone");
});

/** Waiting for events, deliveries and states: what was, what comes, and what does not. */
import { describe, expect, it } from "vitest";
import { WaitTimeout } from "../src/index.ts";
import { openShop } from "./shop.ts";

const deliver = () => new Response(null, { status: 204 });

async function openWaitingShop() {
  const shop = openShop({ deliver });
  const { id } = (await shop.issue()).body;
  return { ...shop, cardId: id as string };
}

it("what happened before counts, and nobody comes too late", async () => {
  const { service, cardId } = await openWaitingShop();
  service.cards.purchase(cardId, { points: 7 });
  const [event] = await service.waitFor({ event: { type: "balance.changed", data: { passId: cardId } } });
  expect(event).toMatchObject({
    type: "balance.changed",
    data: { balance: 7, operation: { type: "purchase" } },
  });
});

it("what happens later is awaited: an event, a number of events, a state of a card, a delivery", async () => {
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

it("a test that is sent is an event too", async () => {
  const { service } = await openWaitingShop();
  const { id } = service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["ping"] });
  service.webhooks.sendTest(id);
  expect(await service.waitFor({ event: { type: "ping" } })).toHaveLength(1);
});

describe("what does not come", () => {
  it("ends with what there was instead", async () => {
    const { service, cardId } = await openWaitingShop();
    service.cards.purchase(cardId, { points: 7 });
    const wait = service.waitFor({ event: { type: "tier.changed" } }, { timeoutMs: 1 });
    await expect(wait).rejects.toThrow(WaitTimeout);
    await expect(wait).rejects.toThrow(/"tier.changed".* within 1 ms\. The newest events: balance.changed;/);
  });

  it("is a 408 over HTTP, and what comes is a 200", async () => {
    const { call, service, cardId } = await openWaitingShop();
    const wait = (body: unknown) => call("POST", "/_mock/wait", { body, key: null });
    const nothing = await wait({ card: { id: cardId, loyaltyBalance: 1 }, timeoutMs: 1 });
    expect([nothing.status, nothing.body.title]).toEqual([408, "Request Timeout"]);
    const coming = wait({ card: { id: cardId, loyaltyBalance: 1 } });
    service.cards.purchase(cardId, { points: 1 });
    expect(await coming).toMatchObject({ status: 200, body: { items: [{ id: cardId }] } });
  });

  it("can be given up", async () => {
    const { service } = await openWaitingShop();
    const reason = new Error("enough");
    const wait = service.waitFor({ event: { type: "ping" } }, { signal: AbortSignal.abort(reason) });
    await expect(wait).rejects.toBe(reason);
  });
});

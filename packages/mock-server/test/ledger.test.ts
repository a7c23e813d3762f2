/** Balances, levels and history: what the shop records, and what the website reads. */
import { describe, expect, it } from "vitest";
import { openShop, receiver } from "./shop.ts";

async function shopWithCard() {
  const inbox = receiver();
  const shop = openShop({ deliver: inbox.deliver });
  inbox.subscribe(shop.service, ["balance.changed", "tier.changed"]);
  const { body } = await shop.issue();
  const id = body.id as string;
  const read = async () => (await shop.call("GET", `/api/v1/passes/${id}`)).body;
  const history = async (query = "") =>
    (await shop.call("GET", `/api/v1/passes/${id}/operations${query}`)).body.items;
  return { ...shop, inbox, id, read, history };
}

describe("operations", () => {
  it("change the balance one after the other", async () => {
    const { service, id, read, history } = await shopWithCard();
    const purchase = service.cards.purchase(id, { points: 50 });
    service.cards.reward(id, { points: 5 });
    service.cards.redeem(id, { points: 4 });
    service.cards.correct(id, { change: -1 });
    service.cards.cancel(purchase.id);
    expect((await read()).loyaltyBalance).toBe(0);
    expect(await history()).toMatchObject([
      { type: "cancellation", change: -50, balance: 0 },
      { type: "correction", change: -1, balance: 50 },
      { type: "redemption", change: -4, balance: 51 },
      { type: "reward", change: 5, balance: 55 },
      { type: "purchase", change: 50, balance: 50, createdAt: "2026-03-01T12:00:00.000Z" },
    ]);
  });

  it("are told with the new balance and the signed change", async () => {
    const { service, inbox, id } = await shopWithCard();
    service.cards.purchase(id, { points: 8 });
    const redemption = service.cards.redeem(id, { points: 3 });
    await service.idle();
    expect(inbox.events.map(({ data }) => data)).toMatchObject([
      { passId: id, balance: 8, change: 8, operation: { type: "purchase" } },
      { passId: id, balance: 5, change: -3, operation: { id: redemption.id, type: "redemption" } },
    ]);
  });

  it("show the balance in the template's points field", async () => {
    const { service, id, read } = await shopWithCard();
    service.cards.purchase(id, { points: 7 });
    expect((await read()).fieldValues.points).toBe(7);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("take no %s points", async (points) => {
    const { service, id } = await shopWithCard();
    for (const record of [service.cards.purchase, service.cards.redeem, service.cards.reward]) {
      expect(() => record(id, { points })).toThrow(/positive number/);
    }
  });

  it("never take the balance below 0, and then leave no trace", async () => {
    const { service, inbox, id, history } = await shopWithCard();
    expect(() => service.cards.redeem(id, { points: 1 })).toThrow(
      "The balance is 0; it cannot change by -1.",
    );
    expect(() => service.cards.correct(id, { change: -1 })).toThrow(RangeError);
    await service.idle();
    expect([await history(), inbox.events]).toEqual([[], []]);
  });

  it("are cancelled once, and a cancellation never", async () => {
    const { service, id } = await shopWithCard();
    const purchase = service.cards.purchase(id, { points: 8 });
    const cancellation = service.cards.cancel(purchase.id);
    expect(() => service.cards.cancel(purchase.id)).toThrow(/already/);
    expect(() => service.cards.cancel(cancellation.id)).toThrow(/cannot be cancelled/);
    expect(() => service.cards.cancel("op_none")).toThrow(/no operation/);
  });

  it("count in exact millionths", async () => {
    const { service, id, read } = await shopWithCard();
    service.cards.purchase(id, { points: 0.1 });
    service.cards.purchase(id, { points: 0.2 });
    expect((await read()).loyaltyBalance).toBe(0.3);
    service.cards.redeem(id, { points: 0.3 });
    expect((await read()).loyaltyBalance).toBe(0);
  });

  it("never take the balance where numbers are not exact", async () => {
    const { service, id } = await shopWithCard();
    expect(() => service.cards.purchase(id, { points: Number.MAX_VALUE })).toThrow(/too large to be exact/);
  });

  it("of an unknown card are refused", async () => {
    const { service } = await shopWithCard();
    expect(() => service.cards.purchase("card_none", { points: 1 })).toThrow('There is no card "card_none".');
  });
});

describe("levels", () => {
  it("begin at their balance exactly, and are told with the one before", async () => {
    const { service, inbox, id, read } = await shopWithCard();
    const tiers: (string | null)[] = [];
    for (const points of [9, 1, 89, 1]) {
      service.cards.purchase(id, { points });
      tiers.push((await read()).loyaltyTier);
    }
    service.cards.redeem(id, { points: 95 });
    tiers.push((await read()).loyaltyTier);
    await service.idle();
    expect(tiers).toEqual([null, "Silver", "Silver", "Gold", null]);
    expect(inbox.events.filter(({ type }) => type === "tier.changed").map(({ data }) => data)).toMatchObject([
      { tier: "Silver", previous: null },
      { tier: "Gold", previous: "Silver" },
      { tier: null, previous: "Gold" },
    ]);
  });
});

describe("the history", () => {
  it("answers 20 when not asked for a number, at most 100, newest first", async () => {
    const { service, id, history } = await shopWithCard();
    for (let points = 1; points <= 101; points++) service.cards.purchase(id, { points });
    expect((await history()).map(({ change }: { change: number }) => change)).toEqual(
      Array.from({ length: 20 }, (_, index) => 101 - index),
    );
    expect((await history("?limit=1")).map(({ change }: { change: number }) => change)).toEqual([101]);
    expect(await history("?limit=100")).toHaveLength(100);
    for (const limit of ["1000", "99999999999999999999"])
      expect(await history(`?limit=${limit}`)).toHaveLength(100);
  });

  it.each(["0", "00", "-1", "1.5", "abc", ""])("refuses limit=%s with 400", async (limit) => {
    const { call, id } = await shopWithCard();
    expect((await call("GET", `/api/v1/passes/${id}/operations?limit=${limit}`)).status).toBe(400);
  });

  it("of a card without any is empty", async () => {
    const { history } = await shopWithCard();
    expect(await history()).toEqual([]);
  });
});

describe("wallets", () => {
  it("tell of adding and removing", async () => {
    const inbox = receiver();
    const { service, issue } = openShop({ deliver: inbox.deliver });
    inbox.subscribe(service, ["card.added", "card.removed"]);
    const { body } = await issue();
    service.cards.addToWallet(body.id, "apple");
    service.cards.removeFromWallet(body.id, "apple");
    await service.idle();
    expect(inbox.events).toMatchObject([
      { type: "card.added", data: { passId: body.id, customerId: body.customerId, wallet: "apple" } },
      { type: "card.removed", data: { passId: body.id, customerId: body.customerId, wallet: "apple" } },
    ]);
  });

  it("refuse what cannot be", async () => {
    const { service, issue } = openShop();
    const { body } = await issue();
    expect(() => service.cards.addToWallet(body.id, "samsung")).toThrow("there are apple and google");
    expect(() => service.cards.removeFromWallet(body.id, "google")).toThrow(/not in the google wallet/);
    service.cards.addToWallet(body.id, "google");
    expect(() => service.cards.addToWallet(body.id, "google")).toThrow(/already/);
  });
});

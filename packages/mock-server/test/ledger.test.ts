/** Operations, balances, tiers and history of a card. */

import { openMockShop, receiver } from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";

async function shopWithCard() {
  const inbox = receiver();
  const shop = openMockShop({ deliver: inbox.deliver });
  inbox.subscribe(shop.service, ["balance.changed", "tier.changed"]);
  const { body } = await shop.issue();
  const id = body.id as string;
  const read = async () => (await shop.call("GET", `/api/v1/passes/${id}`)).body;
  const history = async (query = "") =>
    (await shop.call("GET", `/api/v1/passes/${id}/operations${query}`)).body.items;
  return { ...shop, inbox, id, read, history };
}

describe("operations", () => {
  it("change the balance in order", async () => {
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

  it("emit balance.changed with the new balance and the signed change", async () => {
    const { service, inbox, id } = await shopWithCard();
    service.cards.purchase(id, { points: 8 });
    const redemption = service.cards.redeem(id, { points: 3 });
    await service.idle();
    expect(inbox.events.map(({ data }) => data)).toMatchObject([
      { passId: id, balance: 8, change: 8, operation: { type: "purchase" } },
      { passId: id, balance: 5, change: -3, operation: { id: redemption.id, type: "redemption" } },
    ]);
  });

  it("reject a change below 0, and record nothing", async () => {
    const { service, inbox, id, history } = await shopWithCard();
    expect(() => service.cards.redeem(id, { points: 1 })).toThrow(
      "The balance is 0; it cannot change by -1.",
    );
    expect(() => service.cards.correct(id, { change: -1 })).toThrow(RangeError);
    await service.idle();
    expect([await history(), inbox.events]).toEqual([[], []]);
  });

  it("can be cancelled once; cancellations cannot", async () => {
    const { service, id } = await shopWithCard();
    const purchase = service.cards.purchase(id, { points: 8 });
    const cancellation = service.cards.cancel(purchase.id);
    expect(() => service.cards.cancel(purchase.id)).toThrow(/already/);
    expect(() => service.cards.cancel(cancellation.id)).toThrow(/cannot be cancelled/);
    expect(() => service.cards.cancel("op_none")).toThrow(/no operation/);
  });

  it("round the change and the balance to a millionth, in the event, in the history and in the points field", async () => {
    const { service, inbox, id, read, history } = await shopWithCard();
    service.cards.purchase(id, { points: 0.1 + 0.2 });
    expect(await read()).toMatchObject({ loyaltyBalance: 0.3, fieldValues: { points: 0.3 } });
    service.cards.correct(id, { change: 0.1 - 0.3 });
    service.cards.redeem(id, { points: 0.1000000004 });
    await service.idle();
    const expected = [0.3, 0.3, -0.2, 0.1, -0.1, 0];
    const toNumbers = (all: unknown[]) =>
      (all as { change: number; balance: number }[]).flatMap(({ change, balance }) => [
        change,
        balance,
      ]);
    expect(toNumbers(inbox.events.map(({ data }) => data))).toEqual(expected);
    expect((await read()).fieldValues.points).toBe(0);
    expect(toNumbers((await history()).reverse())).toEqual(expected);
  });

  it("reject what is not positive, what rounds to 0, a balance beyond the exact numbers, and an unknown card", async () => {
    const { service, id, history } = await shopWithCard();
    const { purchase, redeem, reward, correct } = service.cards;
    for (const record of [purchase, redeem, reward]) {
      for (const points of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
        expect(() => record(id, { points })).toThrow(/positive number/);
      expect(() => record(id, { points: 4e-7 })).toThrow("at least 0.000001");
      expect(() => record(id, 5 as never)).toThrow("not undefined: pass { points: 120 }.");
    }
    expect(() => correct(id, { change: -4e-7 })).toThrow("at least 0.000001");
    expect(() => purchase(id, { points: Number.MAX_VALUE })).toThrow(/too large to be exact/);
    expect(() => purchase("card_none", { points: 1 })).toThrow('There is no card "card_none".');
    expect(await history()).toEqual([]);
    purchase(id, { points: 1e-6 });
    expect(service.cards.get(id).loyaltyBalance).toBe(1e-6);
  });
});

describe("tiers", () => {
  it("begin exactly at their balance, and emit tier.changed with the previous tier", async () => {
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
    expect(
      inbox.events.filter(({ type }) => type === "tier.changed").map(({ data }) => data),
    ).toMatchObject([
      { tier: "Silver", previous: null },
      { tier: "Gold", previous: "Silver" },
      { tier: null, previous: "Gold" },
    ]);
  });
});

describe("the expiry of old purchases", () => {
  it("changes only the tier with keepBalance, and emits only tier.changed", async () => {
    const { service, inbox, id, read, history } = await shopWithCard();
    service.cards.purchase(id, { points: 120 });
    await service.idle();
    inbox.events.length = 0;
    const card = service.cards.expire(id, { points: 30, keepBalance: true });
    await service.idle();
    expect(card).toMatchObject({ id, loyaltyBalance: 120, loyaltyTier: "Silver" });
    expect(await read()).toEqual(card);
    expect(inbox.events).toMatchObject([
      { type: "tier.changed", data: { passId: id, tier: "Silver", previous: "Gold" } },
    ]);
    expect(await history()).toHaveLength(1);
  });

  it("decreases the balance by a correction without keepBalance", async () => {
    const { service, inbox, id, history } = await shopWithCard();
    service.cards.purchase(id, { points: 120 });
    await service.idle();
    inbox.events.length = 0;
    expect(service.cards.expire(id, { points: 30 })).toMatchObject({
      loyaltyBalance: 90,
      loyaltyTier: "Silver",
    });
    await service.idle();
    expect(inbox.events).toMatchObject([
      {
        type: "balance.changed",
        data: { balance: 90, change: -30, operation: { type: "correction" } },
      },
      { type: "tier.changed", data: { tier: "Silver", previous: "Gold" } },
    ]);
    expect(await history()).toMatchObject([
      { type: "correction", change: -30 },
      { type: "purchase" },
    ]);
  });

  it("emits nothing while the tier stays, and adds later purchases to the remaining points", async () => {
    const { service, inbox, id, read } = await shopWithCard();
    service.cards.purchase(id, { points: 120 });
    service.cards.expire(id, { points: 15, keepBalance: true });
    await service.idle();
    expect(inbox.events.map(({ type }) => type)).toEqual(["balance.changed", "tier.changed"]);
    service.cards.expire(id, { points: 100, keepBalance: true });
    expect(await read()).toMatchObject({ loyaltyBalance: 120, loyaltyTier: null });
    service.cards.purchase(id, { points: 4 });
    expect((await read()).loyaltyTier).toBeNull();
    service.cards.purchase(id, { points: 1 });
    expect(await read()).toMatchObject({ loyaltyBalance: 125, loyaltyTier: "Silver" });
  });

  it("does not count expired points that were redeemed", async () => {
    const { service, id, read } = await shopWithCard();
    service.cards.purchase(id, { points: 120 });
    service.cards.expire(id, { points: 100, keepBalance: true });
    service.cards.redeem(id, { points: 120 });
    service.cards.purchase(id, { points: 100 });
    expect((await read()).loyaltyTier).toBe("Gold");
  });

  it("rejects more points than count for the tier, and numbers that are not positive", async () => {
    const { service, id, read } = await shopWithCard();
    service.cards.purchase(id, { points: 20 });
    service.cards.expire(id, { points: 15, keepBalance: true });
    for (const keepBalance of [true, false]) {
      expect(() => service.cards.expire(id, { points: 6, keepBalance })).toThrow(
        "5 points count for the tier",
      );
      expect(() => service.cards.expire(id, { points: 0, keepBalance })).toThrow(/positive number/);
      expect(() => service.cards.expire(id, { points: Number.NaN, keepBalance })).toThrow(
        /positive number/,
      );
    }
    expect(() => service.cards.expire("card_none", { points: 1 })).toThrow(
      'There is no card "card_none".',
    );
    expect(await read()).toMatchObject({ loyaltyBalance: 20, loyaltyTier: null });
  });
});

it("sets the status of a card to any text that is not blank, and emits no event", async () => {
  const { service, inbox, id, read } = await shopWithCard();
  for (const status of ["blocked", "active"]) {
    expect(service.cards.setStatus(id, status)).toMatchObject({ id, status });
    expect((await read()).status).toBe(status);
  }
  for (const status of ["", " ", undefined, 7])
    expect(() => service.cards.setStatus(id, status as string)).toThrow(/status must be a text/);
  expect(() => service.cards.setStatus("card_none", "blocked")).toThrow(
    'There is no card "card_none".',
  );
  await service.idle();
  expect(inbox.events).toEqual([]);
});

describe("the history", () => {
  it("returns 20 operations by default and at most 100, newest first", async () => {
    const { service, id, history } = await shopWithCard();
    for (let points = 1; points <= 101; points++) service.cards.purchase(id, { points });
    expect((await history()).map(({ change }: { change: number }) => change)).toEqual(
      Array.from({ length: 20 }, (_, index) => 101 - index),
    );
    expect((await history("?limit=1")).map(({ change }: { change: number }) => change)).toEqual([
      101,
    ]);
    expect(await history("?limit=100")).toHaveLength(100);
    for (const limit of ["1000", "99999999999999999999"])
      expect(await history(`?limit=${limit}`)).toHaveLength(100);
  });

  it("responds 400 to a limit that is not a whole number of 1 or more, and is empty without operations", async () => {
    const { call, id, history } = await shopWithCard();
    for (const limit of ["0", "00", "-1", "1.5", "abc", ""]) {
      const { status } = await call("GET", `/api/v1/passes/${id}/operations?limit=${limit}`);
      expect([limit, status]).toEqual([limit, 400]);
    }
    expect(await history()).toEqual([]);
  });
});

describe("wallets", () => {
  it("emit card.added and card.removed, and reject unknown wallets and repeated adding and removing", async () => {
    const inbox = receiver();
    const { service, issue } = openMockShop({ deliver: inbox.deliver });
    inbox.subscribe(service, ["card.added", "card.removed"]);
    const { body } = await issue();
    const { addToWallet, removeFromWallet } = service.cards;
    expect(() => addToWallet(body.id, "samsung")).toThrow("there are apple and google");
    expect(() => removeFromWallet(body.id, "apple")).toThrow(/not in the apple wallet/);
    addToWallet(body.id, "apple");
    expect(() => addToWallet(body.id, "apple")).toThrow(/already/);
    removeFromWallet(body.id, "apple");
    await service.idle();
    expect(inbox.events).toMatchObject([
      {
        type: "card.added",
        data: { passId: body.id, customerId: body.customerId, wallet: "apple" },
      },
      {
        type: "card.removed",
        data: { passId: body.id, customerId: body.customerId, wallet: "apple" },
      },
    ]);
  });
});

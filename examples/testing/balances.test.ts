/** Tests of the receiver: a purchase, a database that is unavailable for hours, and duplicates. */
// #region waiting
// balances.test.ts
import { expect } from "vitest";
import { join } from "./join.ts";
import { it, type Shop } from "./shop.ts";

const anna = { id: crypto.randomUUID(), name: "Anna", phone: "+48 600 100 200" };

async function issueCard({ outbox, templateId }: Shop): Promise<string> {
  const joined = await join(outbox, templateId, anna);
  if (!("cardId" in joined)) throw new Error("There is no card.");
  return joined.cardId;
}

it("stores the balance after a purchase", async ({ shop }) => {
  const { service, readBalance } = shop;
  const cardId = await issueCard(shop);
  service.cards.purchase(cardId, { points: 120 });
  await service.waitFor({
    delivery: { type: "balance.changed", state: "delivered" },
  });
  expect(await readBalance(cardId)).toBe(120);
});
// #endregion

// #region time
it("stores the balance hours later, when the database was down", async ({
  shop,
}) => {
  const { service, readBalance, database } = shop;
  const cardId = await issueCard(shop);
  database.isDown = true;
  service.cards.purchase(cardId, { points: 120 });
  await service.clock.advance("36m"); // three retries
  expect(await readBalance(cardId)).toBeUndefined();

  database.isDown = false;
  const [attempt] = await service.clock.advance("2h");
  expect(attempt).toMatchObject({ status: 204 });
  expect(await readBalance(cardId)).toBe(120);
});
// #endregion

// G4
it.for([
  ["duplicate", 3],
  ["reorder", 2],
] as const)(
  "stores the newest balance when there is a fault of the kind %s",
  async ([kind, count], { shop }) => {
    const { service, readBalance } = shop;
    const cardId = await issueCard(shop);
    service.faults.add({ kind, times: 1, match: { event: "balance.changed" } });
    service.cards.purchase(cardId, { points: 5 });
    await service.clock.advance(1); // events of the same millisecond have no order
    service.cards.purchase(cardId, { points: 7 });
    await service.clock.runUntilIdle(); // also the retry of a duplicate that got 503
    expect(service.webhooks.deliveries({ state: "delivered" })).toHaveLength(count);
    expect(await readBalance(cardId)).toBe(12);
  },
);

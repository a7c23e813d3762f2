/** Applies the service's events to the shop's tables. */
// #region events
// shop/events.ts
import type { SqliteDelivery } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents, type WebhookEvent } from "@loyalty-cards/webhook-verify";

export const cardTables = `
  CREATE TABLE IF NOT EXISTS cards (
    id TEXT PRIMARY KEY, public_url TEXT, balance REAL, tier TEXT, consent INTEGER)`;

export const handleEvents = onEvents({
  "balance.changed": (event, delivery: SqliteDelivery) =>
    set(delivery, event, [event.data.passId], "balance", event.data.balance),
  "tier.changed"(event, delivery) {
    const { passId, tier } = event.data; // a level of any type
    const text = typeof tier === "string" ? tier : null;
    return set(delivery, event, [passId], "tier", text);
  },
  "consent.changed"(event, delivery) {
    const { passIds, marketingConsent } = event.data;
    const isGiven = marketingConsent === true; // it can be of any type
    return set(delivery, event, passIds, "consent", Number(isGiven));
  },
  otherTypes: () => {},
});

/** In the transaction that completes the event. The shop may not know the cards yet. */
const set = (
  { write }: SqliteDelivery,
  event: WebhookEvent,
  cardIds: string[],
  column: "balance" | "tier" | "consent",
  value: string | number | null,
) =>
  write((database) => {
    for (const cardId of cardIds) {
      // Events arrive in any order.
      if (!isNewest(database, `${column} of ${cardId}`, event)) continue;
      const upsert = `INSERT INTO cards (id, ${column}) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET ${column} = excluded.${column}`;
      database.prepare(upsert).run(cardId, value);
    }
  });
// #endregion

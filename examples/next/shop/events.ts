/** Applies the service's events to the shop's tables, and notifies the open pages of a member. */
import type { SqliteDelivery } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents, type WebhookEvent } from "@loyalty-cards/webhook-verify";

export const cardTables = `
  CREATE TABLE IF NOT EXISTS cards (
    id TEXT PRIMARY KEY, public_url TEXT, balance REAL, tier TEXT, wants_news INTEGER);
  CREATE TABLE IF NOT EXISTS sessions (
    token_hash TEXT PRIMARY KEY, member_id TEXT, began_at INTEGER)`;

export const handleEvents = onEvents({
  "balance.changed": (event, delivery: SqliteDelivery) =>
    set(delivery, event, [event.data.passId], "balance", event.data.balance),
  "tier.changed"(event, delivery) {
    const { passId, tier } = event.data; // the specification does not define the type of a level
    if (tier !== null && typeof tier !== "string")
      throw new TypeError(`The level in the event ${event.id} is not text.`); // kept as a dead letter
    return set(delivery, event, [passId], "tier", tier);
  },
  "consent.changed"(event, delivery) {
    const { passIds, marketingConsent } = event.data;
    return set(delivery, event, passIds, "wants_news", Number(marketingConsent));
  },
  otherTypes: () => {},
});

/** In the transaction that completes the event. The shop may not know the cards yet. */
const set = (
  { write }: SqliteDelivery,
  event: WebhookEvent,
  cardIds: string[],
  column: "balance" | "tier" | "wants_news",
  value: string | number | null,
) =>
  write((database) => {
    for (const cardId of cardIds) {
      // Events arrive in any order.
      if (!isNewest(database, `${column} of ${cardId}`, event)) continue;
      const upsert = `INSERT INTO cards (id, ${column}) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET ${column} = excluded.${column}`;
      database.prepare(upsert).run(cardId, value);
      const select = "SELECT id FROM members WHERE card_id = ?";
      const [member] = database.prepare(select).all(cardId) as { id: string }[];
      if (member !== undefined) notify(member.id);
    }
  });

interface Page {
  update(): void;
  close(): void;
}

// Global, because Next loads a module once per bundle.
const memory = globalThis as {
  pages?: Map<string, Set<Page>>;
  isStopping?: boolean;
};

export const isStopping = () => memory.isStopping === true;

/** The open pages of each member. A stopping server waits for open connections, so it closes them. */
function getPages(): Map<string, Set<Page>> {
  if (memory.pages !== undefined) return memory.pages;
  const pages = new Map<string, Set<Page>>();
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.once(signal, () => {
      memory.isStopping = true;
      for (const own of pages.values()) for (const page of own) page.close();
    });
  }
  memory.pages = pages;
  return pages;
}

/** Called in a transaction: the pages of this process are updated after its commit. */
export function notify(memberId: string): void {
  setImmediate(() => {
    for (const page of getPages().get(memberId) ?? []) page.update();
  });
}

/** @returns a function that unsubscribes. */
export function subscribe(memberId: string, page: Page): () => void {
  const pages = getPages();
  const own = pages.get(memberId) ?? new Set();
  pages.set(memberId, own.add(page));
  return () => {
    own.delete(page);
    if (own.size === 0 && pages.get(memberId) === own) pages.delete(memberId);
  };
}

/**
 * The shop's one SQLite file, opened once per process: its members, the outbox of cards that are
 * owed, and the inbox of events.
 */
// #region loyalty
// shop/loyalty.ts
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { cardTables, handleEvents } from "./events";

const tables = `
  CREATE TABLE IF NOT EXISTS members (
    id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE COLLATE NOCASE, phone TEXT,
    privacy_version TEXT, news_version TEXT, joined_at INTEGER,
    form_id TEXT UNIQUE, card_id TEXT UNIQUE);
  CREATE TABLE IF NOT EXISTS sessions (
    token_hash TEXT PRIMARY KEY, member_id TEXT, began_at INTEGER);
  ${cardTables}`;

function open() {
  const { LOYALTY_TEMPLATE_ID: template, LOYALTY_SIGNING_SECRET: secret } =
    process.env;
  if (!template || !secret)
    throw new Error("Set LOYALTY_TEMPLATE_ID and LOYALTY_SIGNING_SECRET.");
  const file = process.env.SHOP_FILE ?? "shop.db";
  const client = createIssuingClient(); // reads LOYALTY_URL and LOYALTY_API_KEY
  const outbox = sqliteOutbox({
    client,
    file,
    onIssued({ userId, cardId, publicUrl }, database) {
      // An event can have stored the card before.
      const insert = `INSERT INTO cards (id, public_url) VALUES (?, ?)
        ON CONFLICT (id) DO UPDATE SET public_url = excluded.public_url`;
      database.prepare(insert).run(cardId, publicUrl ?? null);
      const update = "UPDATE members SET card_id = ? WHERE id = ?";
      database.prepare(update).run(cardId, userId);
    },
  });
  return { template, secret, client, outbox, inbox: sqliteInbox({ file }) };
}

// Global, because Next loads a module once per bundle.
const memory = globalThis as { loyalty?: ReturnType<typeof open> };

/** Opens at the first call, because a build has no environment. */
export function loyalty() {
  memory.loyalty ??= open();
  return memory.loyalty;
}

/** Called once, when the server starts. */
export async function start(): Promise<void> {
  const { outbox, inbox } = loyalty();
  await outbox.write((database) => database.exec(tables));
  outbox.work();
  inbox.work(handleEvents);
}
// #endregion

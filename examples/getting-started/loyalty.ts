/** The shop of the guide "Getting started", without a framework: sign-up and webhook handlers. */
// #region outbox
// loyalty.ts
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { ensureInboxTables, isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import {
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
} from "@loyalty-cards/webhook-verify";

const client = createIssuingClient(); // reads LOYALTY_URL and LOYALTY_API_KEY
const template = process.env.LOYALTY_TEMPLATE_ID ?? "tpl_mock";

export const outbox = sqliteOutbox({
  client,
  file: process.env.SHOP_FILE ?? "shop.db",
  // In the transaction that records the card.
  onIssued({ userId, cardId }, database) {
    const update = "UPDATE users SET cardId = ? WHERE id = ?";
    database.prepare(update).run(cardId, userId);
  },
});
// The shop's own tables, in the same file.
await outbox.write((database) => {
  database.exec(`
    CREATE TABLE IF NOT EXISTS users
      (id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, cardId TEXT);
    CREATE TABLE IF NOT EXISTS balances (cardId TEXT PRIMARY KEY, balance REAL)`);
  ensureInboxTables(database); // of isNewest
});
outbox.work(); // issues the cards that are still owed
// #endregion

// #region sign-up
export interface Form {
  name?: string;
  email?: string;
  phone?: string;
}

const saveUser = `
  INSERT INTO users (id, name, email) VALUES (?, ?, NULLIF(?, ''))
  ON CONFLICT DO NOTHING`;

export async function signUp({ name = "", email = "", phone = "" }: Form) {
  const userId = crypto.randomUUID();
  const consents = { privacy: { version: "2026-01" } };
  const customer = { name, email, phone, consents }; // blank values are omitted
  const isNew = await outbox.write((database) => {
    const { changes } = database.prepare(saveUser).run(userId, name, email);
    if (changes) {
      const request = { fieldValues: { name }, customer };
      outbox.add(database, { userId, template, request });
    }
    return changes;
  });
  if (!isNew)
    return { status: 409, body: { message: "You are a member already." } };

  const entry = await outbox.issue(userId, { deadlineMs: 5_000 });
  if (entry.publicUrl) {
    const links = client.cardLinks(entry.publicUrl);
    const { page, addToFirstWallet: apple, addToSecondWallet: google } = links;
    const { cardId } = entry;
    return { status: 201, body: { userId, cardId, page, apple, google } };
  }
  if (entry.state === "rejected")
    return { status: 422, body: { userId, message: entry.error?.userMessage } };
  return { status: 202, body: { userId, message: "Your card is on its way." } };
}

// #endregion

// #region webhooks
export const webhooks = {
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  dedupe: memoryDedupe(),
  handler: onEvents({
    "balance.changed": (event) =>
      outbox.write((database) => {
        const { passId, balance } = event.data;
        // An older event can arrive later: then the newer balance stays.
        if (!isNewest(database, `balance of ${passId}`, event)) return;
        const store = "INSERT OR REPLACE INTO balances VALUES (?, ?)";
        database.prepare(store).run(passId, balance);
      }),
    otherTypes: () => {}, // types that this shop does not use
  }),
} satisfies ReceiverOptions;

/** For this guide only: a real shop shows each user only their own data. */
export const listUsers = () =>
  outbox.write((database) => {
    const list = `SELECT users.*, COALESCE(balance, 0) AS balance
      FROM users LEFT JOIN balances USING (cardId)`;
    return database.prepare(list).all();
  });
// #endregion

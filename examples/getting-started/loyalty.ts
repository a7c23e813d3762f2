/** The shop of the guide "Getting started", without a framework: the sign-up, and the webhook handlers. */
// #region loyalty
// loyalty.ts
import {
  createIssuingClient,
  type IssueCardRequest,
} from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import {
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
} from "@loyalty-cards/webhook-verify";

export interface Form {
  name?: string;
  email?: string;
  phone?: string;
}

// Global, because Next loads a module more than once.
const memory = globalThis as { shop?: ReturnType<typeof open> };

/** Call it when the server starts: it also issues the cards that are still owed. */
export function openShop() {
  memory.shop ??= open();
  return memory.shop;
}

async function open() {
  const client = createIssuingClient(); // reads LOYALTY_URL and LOYALTY_API_KEY
  const outbox = sqliteOutbox({
    client,
    file: process.env.SHOP_FILE ?? "shop.db",
    onIssued({ userId, cardId }, database) {
      // In the transaction that records the card.
      database
        .prepare("UPDATE users SET cardId = ? WHERE id = ?")
        .run(cardId, userId);
    },
  });
  // The shop's own tables, in the same file.
  await outbox.write((database) =>
    database.exec(`
      CREATE TABLE IF NOT EXISTS users
        (id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, cardId TEXT);
      CREATE TABLE IF NOT EXISTS balances
        (cardId TEXT PRIMARY KEY, balance REAL, at TEXT)`),
  );
  outbox.work();
  return { client, outbox };
}

/** Returns the id of the new or known user. A real shop asks for the password. */
const saveUser = `
  INSERT INTO users (id, name, email) VALUES (?, ?, NULLIF(?, ''))
  ON CONFLICT (email) DO UPDATE SET name = excluded.name RETURNING id`;

export async function signUp(form: Form) {
  const { client, outbox } = await openShop();
  const userId = await outbox.write((database) => {
    const values = [crypto.randomUUID(), form.name ?? "", form.email ?? ""];
    const [{ id }] = database.prepare(saveUser).all(...values) as [{ id: string }];
    const state = outbox.add(database, {
      userId: id,
      template: templateId(),
      request: toRequest(form),
    });
    if (state !== "added") outbox.correct(database, id, toRequest(form));
    return id;
  });
  const { publicUrl, cardId, state, error } = await outbox.issue(userId, {
    deadlineMs: 5_000,
  });
  if (publicUrl)
    return {
      status: 201,
      body: { userId, cardId, links: client.cardLinks(publicUrl) },
    };
  if (state === "rejected")
    return { status: 422, body: { userId, message: error?.userMessage } };
  return {
    status: 202,
    body: { userId, message: "You are a member. Your card follows." },
  };
}

const templateId = () => process.env.LOYALTY_TEMPLATE_ID ?? "";

function toRequest({ name = "", email = "", phone = "" }: Form): IssueCardRequest {
  const consents = { privacy: { version: "2026-01" } };
  // Blank values are omitted.
  return { fieldValues: { name }, customer: { name, email, phone, consents } };
}

export async function listUsers() {
  const { outbox } = await openShop();
  const list = `SELECT users.*, COALESCE(balance, 0) AS balance
    FROM users LEFT JOIN balances USING (cardId)`;
  return outbox.write((database) => database.prepare(list).all());
}

/** An older event can arrive later: then the newer balance stays. */
const saveBalance = `
  INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT DO UPDATE
  SET balance = excluded.balance, at = excluded.at
  WHERE excluded.at >= balances.at`;

export const webhooks = {
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  dedupe: memoryDedupe(),
  handler: onEvents({
    // The event can arrive before the card's id is stored.
    async "balance.changed"({ data, createdAt }) {
      const { outbox } = await openShop();
      await outbox.write((database) =>
        database.prepare(saveBalance).run(data.passId, data.balance, createdAt),
      );
    },
    otherTypes: () => {}, // types that this shop does not use
  }),
} satisfies ReceiverOptions;
// #endregion

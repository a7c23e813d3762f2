/** A shop's server: a sign-up that never fails because loyalty does, and webhooks that are never lost. */
import { cardLinks, createIssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

type User = { id: string; name: string; email: string; phone: string; since: number };

export async function openShop(
  settings: Record<"url" | "key" | "namespace" | "template" | "secret" | "file", string>,
) {
  const loyalty = createIssuingClient({
    baseUrl: settings.url,
    apiKey: settings.key,
    idempotencyNamespace: settings.namespace, // one name for each user table
    deadlineMs: 5_000, // the longest that a sign-up waits
  });
  const inbox = sqliteInbox({ file: settings.file }); // and the shop's own tables in the same file
  await inbox.write((database) =>
    database.exec(`
      CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, phone TEXT, since INTEGER, card TEXT);
      CREATE TABLE IF NOT EXISTS balances (card TEXT PRIMARY KEY, balance REAL NOT NULL)`),
  );
  const query = (sql: string, ...values: (string | number)[]) =>
    inbox.write((database) => database.prepare(sql).all(...values) as User[]);

  async function issueCard({ id, name, email, phone, since }: User) {
    const consents = { privacy: { version: "2026-01" } };
    const request = { fieldValues: { name }, customer: { name, email, phone, consents } };
    const card = await loyalty.issueCard(settings.template, request, { userId: id, firstAttemptAt: since });
    await query("UPDATE users SET card = ? WHERE id = ?", card.id, id);
    return card;
  }

  /** Call it every minute: who signed up while the service was away gets the card now, and nobody gets two. */
  async function issueMissing() {
    for (const user of await query("SELECT * FROM users WHERE card IS NULL")) {
      await issueCard(user).catch((error) => console.error(`No card for user ${user.id} yet:`, error));
    }
  }

  inbox.work(
    onEvents({
      "balance.changed": (event, { write }) =>
        write((database) => {
          const { passId, balance } = event.data;
          if (!isNewest(database, passId, event)) return; // events come in any order
          database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
        }),
      other: () => {},
    }),
  );

  const app = express();
  app.post("/webhooks/loyalty", expressReceiver({ secret: settings.secret, inbox })); // above every parser
  app.post("/sign-up", express.json(), async (request, response) => {
    const form = [request.body?.name, request.body?.email, request.body?.phone].map(
      (value) => `${value ?? ""}`,
    );
    const [user] = await query(
      "INSERT INTO users (id, name, email, phone, since) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING *",
      crypto.randomUUID(), // no other user table has the same
      ...form,
      Date.now(),
    );
    if (user === undefined)
      return void response.status(409).json({ message: "You have an account already." });
    try {
      const card = await issueCard(user);
      response.status(201).json({ userId: user.id, links: cardLinks(card) });
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      if (error.code === "validation")
        await query("DELETE FROM users WHERE id = ?", user.id); // to be typed again
      else if (!error.retryable) console.error(error); // a wrong key or template: somebody has to look
      const status = error.code === "validation" ? 422 : 202; // 202: signed up, and the card comes later
      response.status(status).json({ userId: user.id, message: error.userMessage });
    }
  });
  return { app, inbox, issueMissing };
}

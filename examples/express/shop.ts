/** A shop's server: a sign-up that never fails because loyalty does, and webhooks that are never lost. */
import { createIssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express, { type RequestHandler } from "express";

interface User {
  id: string;
  name: string;
  email: string | null; // null when the form had none: any number of users may have none
  phone: string;
  /** When the card was first requested with this key suffix, in milliseconds. */
  since: number;
  /** Part of the idempotency key; new after each 422. */
  key_suffix: string | null;
}

export async function openShop(settings: Record<"url" | "key" | "template" | "secret" | "file", string>) {
  const loyalty = createIssuingClient({
    baseUrl: settings.url,
    apiKey: settings.key,
    deadlineMs: 5_000, // the longest that a sign-up waits
  });
  const inbox = sqliteInbox({ file: settings.file }); // and the shop's own tables in the same file
  await inbox.write((database) =>
    database.exec(`
      CREATE TABLE IF NOT EXISTS users (
        id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, phone TEXT, since INTEGER,
        key_suffix TEXT, is_refused INTEGER NOT NULL DEFAULT 0, card TEXT
      );
      CREATE TABLE IF NOT EXISTS balances (card TEXT PRIMARY KEY, balance REAL NOT NULL)`),
  );
  const query = (sql: string, ...values: (string | number | null)[]) =>
    inbox.write((database) => database.prepare(sql).all(...values) as User[]);

  async function issueCard({ id, name, email, phone, since, key_suffix: keySuffix }: User) {
    const consents = { privacy: { version: "2026-01" } };
    const request = { fieldValues: { name }, customer: { name, email, phone, consents } }; // blank ones are left out
    try {
      const options = { userId: id, firstAttemptAt: since, ...(keySuffix !== null && { keySuffix }) };
      const card = await loyalty.issueCard(settings.template, request, options);
      await query("UPDATE users SET card = ? WHERE id = ?", card.id, id);
      return card;
    } catch (error) {
      // A 422 was received, so there is no card under this key. The service may store the refusal under the key: the corrected
      // form gets a new one.
      if (isIssuingError(error) && error.code === "validation" && error.outcome === "rejected")
        await query("UPDATE users SET is_refused = 1, key_suffix = ? WHERE id = ?", crypto.randomUUID(), id);
      throw error;
    }
  }

  /** Call it every minute: users who signed up while the service was down get their card, and no user gets two. */
  async function issueMissing() {
    for (const user of await query("SELECT * FROM users WHERE card IS NULL AND NOT is_refused")) {
      await issueCard(user).catch((error) => console.error(`No card for user ${user.id} yet:`, error));
    }
  }

  inbox.work(
    onEvents({
      "balance.changed": (event, { write }) =>
        write((database) => {
          const { passId, balance } = event.data;
          if (!isNewest(database, passId, event)) return; // events arrive in any order
          database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
        }),
      otherTypes: () => {},
    }),
  );

  /** Responds with the card of the user whom `save` returns. */
  const signUp =
    (save: (form: string[], userId: string) => Promise<User[]>, conflict: string): RequestHandler =>
    async (request, response) => {
      const { name, email, phone } = request.body ?? {};
      const form = [name, email, phone].map((value) => `${value ?? ""}`.trim());
      const [user] = await save(form, `${request.params.id}`);
      if (user === undefined) return void response.status(409).json({ message: conflict });
      try {
        const card = await issueCard(user);
        response.status(201).json({ userId: user.id, links: loyalty.cardLinks(card) });
      } catch (error) {
        if (!isIssuingError(error)) throw error;
        const mustCorrect = error.code === "validation";
        if (!mustCorrect && !error.retryable) console.error(error); // a wrong key or template: it fails for every user
        // Signed up in both cases: 422 asks to correct the form, after 202 issueMissing issues the card.
        response.status(mustCorrect ? 422 : 202).json({ userId: user.id, message: error.userMessage });
      }
    };

  const app = express();
  app.post("/webhooks/loyalty", expressReceiver({ secret: settings.secret, inbox })); // above every parser
  app.use(express.json());
  app.post(
    "/sign-up",
    signUp(
      ([name = "", email = "", phone = ""]) =>
        query(
          `INSERT INTO users (id, name, email, phone, since) VALUES (?, ?, NULLIF(?, ''), ?, ?)
           ON CONFLICT DO NOTHING RETURNING *`,
          ...[crypto.randomUUID(), name, email, phone, Date.now()], // no other user table has the same id
        ),
      "You have an account already.",
    ),
  );
  // The corrected form. In a real shop the id comes from the session of the user.
  app.put(
    "/users/:id",
    signUp(
      ([name = "", email = "", phone = ""], id) =>
        query(
          `UPDATE OR IGNORE users SET name = ?, email = NULLIF(?, ''), phone = ?, since = ?, is_refused = 0
           WHERE id = ? AND is_refused RETURNING *`,
          ...[name, email, phone, Date.now(), id],
        ),
      "There is nothing to correct, or another account has this address.",
    ),
  );
  return { app, inbox, issueMissing };
}

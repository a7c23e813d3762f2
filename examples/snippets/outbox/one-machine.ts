/** A shop on one machine: one transaction of a SQLite file saves the user and the owed card. */
// #region one-machine
// sign-up.ts
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";

const { LOYALTY_TEMPLATE_ID: template = "" } = process.env;
export const outbox = sqliteOutbox({
  client: createIssuingClient(), // reads LOYALTY_URL and LOYALTY_API_KEY
  file: "shop.db",
  onIssued({ userId, cardId }, database) {
    database.prepare("UPDATE users SET card = ? WHERE id = ?").run(cardId, userId);
  },
});
const createUsers = `CREATE TABLE IF NOT EXISTS users
  (id TEXT PRIMARY KEY, name TEXT, phone TEXT, card TEXT)`;
await outbox.write((database) => database.exec(createUsers));
// issues what could not be issued at sign-up; on SIGTERM: await outbox.close()
outbox.work();

type Member = Record<"id" | "name" | "phone", string>;

export async function signUp({ id, name, phone }: Member) {
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  await outbox.write((database) => {
    const insert = "INSERT INTO users (id, name, phone) VALUES (?, ?, ?)";
    database.prepare(insert).run(id, name, phone);
    const request = { fieldValues: { name }, customer };
    outbox.add(database, { userId: id, template, request });
  });
  // show the card if it is there; otherwise it follows
  return outbox.issue(id, { deadlineMs: 5_000 });
}
// #endregion

export async function correct({ id, name, phone }: Member) {
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  await outbox.write((database) => {
    const request = { fieldValues: { name }, customer };
    if (outbox.correct(database, id, request) !== "accepted") return;
    const update = "UPDATE users SET name = ?, phone = ? WHERE id = ?";
    database.prepare(update).run(name, phone, id);
  });
  return outbox.issue(id, { deadlineMs: 5_000 });
}

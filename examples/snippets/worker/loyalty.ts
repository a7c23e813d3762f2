/** What the web process and the worker open: the outbox and the inbox. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { type SqliteDelivery, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { onEvents } from "@loyalty-cards/webhook-verify";

const file = process.env.SHOP_FILE ?? "shop.db";
export const outbox = sqliteOutbox({
  client: createIssuingClient(),
  file,
  onIssued({ userId, cardId }, database) {
    database.prepare("INSERT INTO cards VALUES (?, ?)").run(userId, cardId);
  },
});
export const inbox = sqliteInbox({ file });
await outbox.write((database) =>
  database.exec(`CREATE TABLE IF NOT EXISTS cards ("user" TEXT, id TEXT);
    CREATE TABLE IF NOT EXISTS events (type TEXT)`),
);

export const handleEvents = onEvents({
  otherTypes({ type }, delivery: SqliteDelivery) {
    const insert = "INSERT INTO events VALUES (?)";
    delivery.write((database) => database.prepare(insert).run(type));
  },
});

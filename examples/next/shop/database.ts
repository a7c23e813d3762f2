/** The shop's SQLite database: members, their cards, the outbox of cards that are owed, and the inbox of events. */
import { type SqliteOutbox, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { type SqliteInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import type { SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
import { changed } from "./changes";
import { loyalty, oncePerProcess } from "./loyalty";

const tables = `
  CREATE TABLE IF NOT EXISTS members (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE COLLATE NOCASE, phone TEXT NOT NULL,
    privacy_version TEXT NOT NULL, news_version TEXT, joined_at INTEGER NOT NULL, form_id TEXT NOT NULL UNIQUE,
    card_id TEXT UNIQUE
  );
  CREATE TABLE IF NOT EXISTS sessions (token_hash TEXT PRIMARY KEY, member_id TEXT NOT NULL, began_at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS cards (id TEXT PRIMARY KEY, public_url TEXT, balance REAL, tier TEXT, wants_news INTEGER)`;

type Value = string | number | null;

const file = () => process.env.SHOP_FILE ?? "shop.db";

export const inbox = (): SqliteInbox =>
  oncePerProcess("inbox", () => sqliteInbox({ file: file() }));

/** Opened at the first use, because the build has no database. */
export function outbox(): Promise<SqliteOutbox> {
  return oncePerProcess("outbox", async () => {
    const opened = sqliteOutbox({
      client: loyalty(),
      file: file(),
      onIssued({ userId, cardId, publicUrl }, database) {
        // An event can have arrived before.
        database
          .prepare(
            "INSERT INTO cards (id, public_url) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET public_url = excluded.public_url",
          )
          .run(cardId, publicUrl ?? null);
        database
          .prepare("UPDATE members SET card_id = ? WHERE id = ?")
          .run(cardId, userId);
        setImmediate(() => changed(userId)); // after the commit
      },
      onRejected: ({ userId }) => void setImmediate(() => changed(userId)),
    });
    await opened.write((database) => database.exec(tables));
    return opened;
  });
}

/** Runs a function in one transaction; the caller of `query` declares the type of the rows. */
export async function inTransaction<Result>(
  work: (
    query: <Row>(sql: string, ...values: Value[]) => Row[],
    database: SqliteDatabase,
  ) => Result,
): Promise<Result> {
  return (await outbox()).write((database) =>
    work(
      <Row>(sql: string, ...values: Value[]) =>
        database.prepare(sql).all(...values) as Row[],
      database,
    ),
  );
}

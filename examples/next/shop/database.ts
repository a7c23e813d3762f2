/** The shop's SQLite database: members, their cards, and the stored events. */
import { type SqliteInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { oncePerProcess } from "./once-per-process";

const tables = `
  CREATE TABLE IF NOT EXISTS members (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE COLLATE NOCASE, phone TEXT NOT NULL,
    privacy_version TEXT NOT NULL, news_version TEXT, joined_at INTEGER NOT NULL, form_id TEXT NOT NULL UNIQUE,
    card_key_suffix TEXT, is_refused INTEGER NOT NULL DEFAULT 0, card_id TEXT UNIQUE
  );
  CREATE TABLE IF NOT EXISTS sessions (token_hash TEXT PRIMARY KEY, member_id TEXT NOT NULL, began_at INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS cards_to_issue (
    member_id TEXT PRIMARY KEY, failures INTEGER NOT NULL DEFAULT 0, next_attempt_at INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS cards (id TEXT PRIMARY KEY, public_url TEXT, balance REAL, tier TEXT, wants_news INTEGER)`;

type Value = string | number | null;

/** Opened at the first use, because the build has no database. */
export function inbox(): Promise<SqliteInbox> {
  return oncePerProcess("inbox", async () => {
    const opened = sqliteInbox({ file: process.env.SHOP_FILE ?? "shop.db" });
    await opened.write((database) => database.exec(tables));
    return opened;
  });
}

/** Runs a function in one transaction; the caller of `query` declares the type of the rows. */
export async function inTransaction<Result>(
  work: (query: <Row>(sql: string, ...values: Value[]) => Row[]) => Result,
): Promise<Result> {
  return (await inbox()).write((database) =>
    work(<Row>(sql: string, ...values: Value[]) => database.prepare(sql).all(...values) as Row[]),
  );
}

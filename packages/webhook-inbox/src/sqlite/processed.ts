/** Entry point `/sqlite`: exactly-once, in-order effects in a SQLite database of your own, inside its transaction. */
import type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import { type OrderedEvent, parseCreatedAt, toEventKey } from "../event.ts";

export type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";

/** The tables of `markProcessed` and `isNewest`. The same statements are in `migrations/sqlite/0001-webhook-inbox.sql`. */
const tables = `CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
  event_id TEXT PRIMARY KEY NOT NULL,
  processed_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
  key TEXT PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  event_id TEXT NOT NULL
);
`;

/**
 * Creates the two tables if they do not exist.
 * @example
 * ```ts
 * import { ensureTables, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 *
 * // In a database of your own; a `sqliteInbox` has the tables in its file.
 * export const prepare = (database: SqliteDatabase): void => ensureTables(database);
 * ```
 */
export function ensureTables(database: SqliteDatabase): void {
  database.exec(tables);
}

/**
 * Marks an event as processed, in the transaction that writes its effect. @returns false when the event was processed
 * before: skip it. With several services or endpoints, pass the `source` of the delivery: their events may have the same id.
 * @example
 * ```ts
 * import { markProcessed, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 * import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
 *
 * export function apply(database: SqliteDatabase, event: BalanceChanged): void {
 *   database.exec("BEGIN IMMEDIATE");
 *   try {
 *     const { passId, balance } = event.data;
 *     if (markProcessed(database, event)) database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
 *     database.exec("COMMIT");
 *   } catch (error) {
 *     database.exec("ROLLBACK");
 *     throw error;
 *   }
 * }
 * ```
 */
export function markProcessed(
  database: SqliteDatabase,
  event: Pick<OrderedEvent, "id">,
  { source = "" }: { source?: string } = {},
): boolean {
  const { changes } = database
    .prepare(
      "INSERT INTO webhook_inbox_processed (event_id, processed_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
    )
    .run(toEventKey(event, source), Date.now());
  return Number(changes) > 0;
}

/**
 * Records an event as the newest of its key. @returns false when a newer event of the key was recorded before.
 * When two events have the same `createdAt`, the one with the greater id is the newer, in whichever order they arrive. That is correct
 * if ids sort by creation, and arbitrary if they are random ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1) promises neither). Read
 * the card with `getCard` where that matters.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * inbox.work(
 *   onEvents({
 *     "balance.changed": (event, delivery) =>
 *       delivery.write((database) => {
 *         const { passId, balance } = event.data;
 *         if (!isNewest(database, `balance of ${passId}`, event)) return; // a newer balance is stored
 *         database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
 *       }),
 *     otherTypes: () => {},
 *   }),
 * );
 * ```
 */
export function isNewest(database: SqliteDatabase, key: string, event: OrderedEvent): boolean {
  const { changes } = database
    .prepare(
      `INSERT INTO webhook_inbox_newest (key, created_at, event_id) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET created_at = excluded.created_at, event_id = excluded.event_id
       WHERE (excluded.created_at, excluded.event_id) > (created_at, event_id)`,
    )
    .run(key, parseCreatedAt(event), event.id);
  return Number(changes) > 0;
}

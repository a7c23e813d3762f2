/** Exactly-once, in-order effects in a SQLite database of the user's own: call these inside its transaction. */
import { createdAtMs, type Occurrence } from "../created-at.ts";
import type { SqliteDatabase } from "./database.ts";
import { processedTables } from "./processed-tables.ts";

/**
 * Makes the two tables where they are missing.
 * @example
 * ```ts
 * import { ensureTables, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 *
 * // In a database of your own; a `sqliteInbox` has the tables in its file.
 * export const prepare = (database: SqliteDatabase): void => ensureTables(database);
 * ```
 */
export function ensureTables(database: SqliteDatabase): void {
  database.exec(processedTables);
}

/**
 * Marks an event as processed, in the transaction that has its effect. @returns false when it was marked before: then
 * its effect stands already, and you do nothing.
 * @example
 * ```ts
 * import { markProcessed, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 * import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
 *
 * export function apply(database: SqliteDatabase, event: BalanceChanged): void {
 *   database.exec("BEGIN IMMEDIATE");
 *   try {
 *     const { passId, balance } = event.data;
 *     if (markProcessed(database, event)) database.prepare("UPDATE users SET balance = ? WHERE card = ?").run(balance, passId);
 *     database.exec("COMMIT");
 *   } catch (error) {
 *     database.exec("ROLLBACK");
 *     throw error;
 *   }
 * }
 * ```
 */
export function markProcessed(database: SqliteDatabase, event: Pick<Occurrence, "id">): boolean {
  const { changes } = database
    .prepare(
      "INSERT INTO webhook_inbox_processed (event_id, processed_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
    )
    .run(event.id, Date.now());
  return Number(changes) > 0;
}

/**
 * Tells whether an event is the newest of its key so far, and remembers it. @returns false for what arrives late.
 * Of two events of one millisecond the one with the greater id is the newest, in whichever order they come: right where ids
 * sort by creation, a coin flip where they are random (spec 6.1 promises neither). Read the card with `getCard` where that matters.
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
 *         if (!isNewest(database, `balance of ${passId}`, event)) return; // came late
 *         database.prepare("UPDATE users SET balance = ? WHERE card = ?").run(balance, passId);
 *       }),
 *     other: () => {},
 *   }),
 * );
 * ```
 */
export function isNewest(database: SqliteDatabase, key: string, event: Occurrence): boolean {
  const { changes } = database
    .prepare(
      `INSERT INTO webhook_inbox_newest (key, created_at, event_id) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET created_at = excluded.created_at, event_id = excluded.event_id
       WHERE (excluded.created_at, excluded.event_id) > (created_at, event_id)`,
    )
    .run(key, createdAtMs(event), event.id);
  return Number(changes) > 0;
}

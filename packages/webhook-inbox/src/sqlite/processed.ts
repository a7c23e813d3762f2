/**
 * Entry point `/sqlite`: exactly-once, in-order effects in a SQLite database of your own, inside
 * its transaction.
 */
import { createTypeError } from "@loyalty-cards/internal/errors";
import { isInTransaction } from "@loyalty-cards/internal/jobs/sqlite";
import type {
  SqliteDatabase,
  UserSqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import {
  explainMissingTable,
  type OrderedEvent,
  parseCreatedAt,
  parseSource,
  requireEvent,
  requireKey,
} from "../processed-arguments.ts";
import { toEventKey } from "../stored-event.ts";

export type { SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";

/**
 * The tables of `markProcessed` and `isNewest`. The same statements are in
 * `migrations/sqlite/0001-webhook-inbox.sql`.
 */
const tables = `CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
  event TEXT PRIMARY KEY NOT NULL,
  processed INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
  key TEXT PRIMARY KEY NOT NULL,
  created INTEGER NOT NULL,
  event TEXT NOT NULL
);
`;

const database =
  "the database of delivery.write or inbox.write, or one of node:sqlite, libsql or better-sqlite3";
const usages = {
  ensureInboxTables: `ensureInboxTables takes ${database}.`,
  markProcessed: `markProcessed takes ${database}, then the event, not its id: markProcessed(database, event).`,
  isNewest: `isNewest takes ${database}, then a key, then the event: isNewest(database, key, event).`,
};

/** @throws {TypeError} with the usage for anything but a database. */
function requireDatabase(database: unknown, usage: string): asserts database is SqliteDatabase {
  const { prepare, query } = Object(database);
  // A database of Bun has both.
  if (typeof prepare === "function") return;
  const hint =
    typeof query === "function"
      ? " For pg, import it from @loyalty-cards/webhook-inbox/postgres."
      : "";
  throw createTypeError(`${usage}${hint}`);
}

/**
 * Creates the two tables if they do not exist.
 * @example
 * ```ts
 * import { ensureInboxTables, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 *
 * // In a database of your own; a `sqliteInbox` has the tables in its file.
 * export const prepare = (database: SqliteDatabase): void => ensureInboxTables(database);
 * ```
 */
export function ensureInboxTables(database: UserSqliteDatabase): void {
  requireDatabase(database, usages.ensureInboxTables);
  database.exec(tables);
}

/**
 * Marks an event as processed, in the transaction that writes its effect.
 * @returns false when the event was processed before: skip it. With several services or endpoints,
 * pass the `source` of the delivery: their events may have the same id.
 * @throws {TypeError} outside of a transaction.
 * @example
 * ```ts
 * import { markProcessed, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 * import type { CardAdded } from "@loyalty-cards/webhook-verify";
 *
 * // between BEGIN and COMMIT
 * export function apply(database: SqliteDatabase, event: CardAdded): void {
 *   if (markProcessed(database, event)) database.exec("UPDATE counts SET cards = cards + 1");
 * }
 * ```
 */
export function markProcessed(
  database: UserSqliteDatabase,
  event: Pick<OrderedEvent, "id">,
  options: { source?: string } = {},
): boolean {
  requireDatabase(database, usages.markProcessed);
  requireEvent(event, usages.markProcessed);
  const insert =
    "INSERT INTO webhook_inbox_processed (event, processed) VALUES (?, ?) ON CONFLICT DO NOTHING";
  return isChanged(database, insert, toEventKey(event, parseSource(options)), Date.now());
}

/**
 * Records an event as the newest of its key.
 * @returns false when this event or a newer one of the key was recorded before. Of two events with
 * the same `createdAt` the one with the greater id is newer, which is arbitrary if ids are random
 * ([spec
 * 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)): read the card with
 * `getCard` where that matters.
 * @throws {TypeError} outside of a transaction, for a `createdAt` that is not a date, and for a key
 * that contains `undefined` or `null`.
 * @example
 * ```ts
 * import { isNewest, type SqliteDatabase } from "@loyalty-cards/webhook-inbox/sqlite";
 * import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
 *
 * // for delivery.write
 * export const storeBalance = (event: BalanceChanged) => (database: SqliteDatabase) => {
 *   const { passId, balance } = event.data;
 *   if (!isNewest(database, `balance of ${passId}`, event)) return; // a newer balance is stored
 *   database.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?)").run(passId, balance);
 * };
 * ```
 */
export function isNewest(database: UserSqliteDatabase, key: string, event: OrderedEvent): boolean {
  requireDatabase(database, usages.isNewest);
  requireKey(key, usages.isNewest);
  requireEvent(event, usages.isNewest);
  const upsert = `INSERT INTO webhook_inbox_newest (key, created, event) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET created = excluded.created, event = excluded.event
    WHERE (excluded.created, excluded.event) > (created, event)`;
  return isChanged(database, upsert, key, parseCreatedAt(event), event.id);
}

/** Outside of a transaction an event would be marked before its effect is written. */
function isChanged(database: SqliteDatabase, sql: string, ...values: (string | number)[]): boolean {
  if (!isInTransaction(database))
    throw createTypeError(
      "markProcessed and isNewest need the transaction that writes the effect of the event: call them in delivery.write or inbox.write, or between BEGIN and COMMIT. Marked outside of it, an event is lost when its handler fails.",
    );
  try {
    return Number(database.prepare(sql).run(...values).changes) > 0;
  } catch (error) {
    throw explainMissingTable(error, /no such table: webhook_inbox_/.test(String(error)));
  }
}

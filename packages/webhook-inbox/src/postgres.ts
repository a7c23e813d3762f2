/**
 * Entry point `/postgres`: exactly-once, in-order effects in your own PostgreSQL, inside the
 * handler's transaction.
 */
import {
  enterTransaction,
  hasCode,
  type PostgresClient,
  type PostgresTransaction,
  queryRows,
  requireClient,
} from "@loyalty-cards/internal/postgres/client";
import {
  explainMissingTable,
  type OrderedEvent,
  parseCreatedAt,
  parseSource,
  requireEvent,
  requireKey,
} from "./processed-arguments.ts";
import { toEventKey } from "./stored-event.ts";

export { fromDrizzle, fromKysely } from "@loyalty-cards/internal/postgres/adapters";
export type { PostgresTransaction } from "@loyalty-cards/internal/postgres/client";

/**
 * The tables of `markProcessed` and `isNewest`. The same text is
 * `migrations/postgres/0001-webhook-inbox.sql`. The text is one statement, so that every client can
 * send it. It creates nothing where the tables exist, because then the role may lack the right to
 * create; the lock serializes processes that start together.
 */
const tables = `DO $$
BEGIN
  IF to_regclass('webhook_inbox_processed') IS NULL OR to_regclass('webhook_inbox_newest') IS NULL
    OR to_regclass('webhook_inbox_schema') IS NULL THEN
    PERFORM pg_advisory_xact_lock(7021926011);
    CREATE TABLE IF NOT EXISTS webhook_inbox_schema (version integer NOT NULL);
    CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
      event text PRIMARY KEY,
      processed timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
      key text PRIMARY KEY,
      created timestamptz NOT NULL,
      event text COLLATE "C" NOT NULL
    );
  END IF;
  IF (SELECT max(version) FROM webhook_inbox_schema) > 1 THEN
    RAISE EXCEPTION
      'The webhook_inbox tables are of a newer version: update @loyalty-cards/webhook-inbox.';
  END IF;
  IF NOT EXISTS (SELECT FROM webhook_inbox_schema) THEN
    INSERT INTO webhook_inbox_schema (version) VALUES (1);
  END IF;
END $$;
`;

/**
 * Creates the tables in the first schema of the search path, unless one of its schemas has them.
 * Safe to run in several processes at once, and by a role that may create nothing where they
 * exist.
 * @throws when they are of a newer version.
 * @example
 * ```ts
 * import { ensureInboxTables } from "@loyalty-cards/webhook-inbox/postgres";
 * import pg from "pg";
 *
 * // or run migrations/postgres/*.sql with your own tool
 * await ensureInboxTables(new pg.Pool());
 * ```
 */
export async function ensureInboxTables(client: PostgresClient): Promise<void> {
  requireClient("ensureInboxTables", client);
  await queryRows(client, tables, []);
}

/**
 * Marks an event as processed, in the transaction that writes its effect. A concurrent duplicate
 * waits until that transaction has ended.
 * @returns false when the event was processed before: skip it. With several services or
 * endpoints, pass the `source` of the delivery: their events may have the same id.
 * @throws {TypeError} for a client that is not in a transaction.
 * @example
 * ```ts
 * import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
 * import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
 * import type pg from "pg";
 *
 * // between BEGIN and COMMIT on this client
 * export async function apply(client: pg.PoolClient, event: BalanceChanged): Promise<void> {
 *   if (!(await markProcessed(client, event))) return; // processed before
 *   const { passId, balance } = event.data;
 *   // a newer balance may be stored
 *   if (!(await isNewest(client, `balance of ${passId}`, event))) return;
 *   await client.query("UPDATE cards SET balance = $2 WHERE id = $1", [passId, balance]);
 * }
 * ```
 */
export async function markProcessed(
  transaction: PostgresTransaction,
  event: Pick<OrderedEvent, "id">,
  options: { source?: string } = {},
): Promise<boolean> {
  requireEvent(
    event,
    "markProcessed takes the transaction, then the event, not its id: markProcessed(tx, event).",
  );
  const insert = `INSERT INTO webhook_inbox_processed (event)
    SELECT $1::text
    WHERE txid_current()::text = $2::text
    ON CONFLICT DO NOTHING
    RETURNING 1`;
  return isChanged(transaction, insert, toEventKey(event, parseSource(options)));
}

/**
 * Records an event as the newest of its key.
 * @returns false when this event or a newer one of the key was recorded before. Of two events with
 * the same `createdAt` the one with the greater id is newer, which is arbitrary if ids are random
 * ([spec
 * 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1)): read the card with
 * `getCard` where that matters.
 * @throws {TypeError} for a client that is not in a transaction, for a `createdAt` that is not a
 * date, and for a key that contains `undefined` or `null`.
 * @example
 * ```ts
 * import {
 *   isNewest,
 *   markProcessed,
 *   type PostgresTransaction,
 * } from "@loyalty-cards/webhook-inbox/postgres";
 * import type { TierChanged } from "@loyalty-cards/webhook-verify";
 *
 * export async function isToBeApplied(tx: PostgresTransaction, event: TierChanged) {
 *   if (!(await markProcessed(tx, event))) return false; // processed before
 *   // false when a newer tier is stored
 *   return isNewest(tx, `tier of ${event.data.passId}`, event);
 * }
 * ```
 */
export async function isNewest(
  transaction: PostgresTransaction,
  key: string,
  event: OrderedEvent,
): Promise<boolean> {
  const usage =
    "isNewest takes the transaction, then a key, then the event: isNewest(tx, key, event).";
  requireKey(key, usage);
  requireEvent(event, usage);
  const createdAt = new Date(parseCreatedAt(event)).toISOString();
  const upsert = `INSERT INTO webhook_inbox_newest AS newest (key, created, event)
    SELECT $1::text, $2::text::timestamptz, $3::text
    WHERE txid_current()::text = $4::text
    ON CONFLICT (key) DO UPDATE SET created = excluded.created, event = excluded.event
    WHERE (excluded.created, excluded.event) > (newest.created, newest.event)
    RETURNING 1`;
  return isChanged(transaction, upsert, key, createdAt, event.id);
}

/** Outside of a transaction an event would be marked before its effect is written. */
const transactionNeed = {
  need: "markProcessed and isNewest need the transaction that writes the effect of the event",
  consequence: "marked outside of it, an event is lost when its handler fails",
};

/**
 * @param sql its last parameter is the id of the transaction.
 * @returns whether the statement had an effect.
 */
async function isChanged(
  transaction: PostgresTransaction,
  sql: string,
  ...values: string[]
): Promise<boolean> {
  const { id, requireSame } = await enterTransaction(transaction, transactionNeed);
  try {
    const rows = await queryRows(transaction, sql, [...values, id]);
    if (rows.length === 0) await requireSame();
    return rows.length > 0;
  } catch (error) {
    throw explainMissingTable(error, hasCode(error, "42P01"));
  }
}

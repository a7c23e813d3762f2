/** Entry point `/postgres`: exactly-once, in-order effects in your own PostgreSQL, inside the handler's transaction. */
import {
  type PostgresClient,
  type PostgresTransaction,
  queryRows,
  requireTransaction,
} from "@loyalty-cards/internal/postgres/transaction";
import { type OrderedEvent, parseCreatedAt, toEventKey } from "./event.ts";

export type { PostgresTransaction } from "@loyalty-cards/internal/postgres/transaction";

/**
 * The tables of `markProcessed` and `isNewest`. The same text is `migrations/postgres/0001-webhook-inbox.sql`. One statement, so that every client can send it;
 * the lock serializes processes that start together.
 */
const tables = `DO $$
BEGIN
  PERFORM pg_advisory_xact_lock(7021926011);
  CREATE TABLE IF NOT EXISTS webhook_inbox_schema (version integer NOT NULL);
  IF (SELECT max(version) FROM webhook_inbox_schema) > 1 THEN
    RAISE EXCEPTION 'The webhook_inbox tables are of a newer version: update @loyalty-cards/webhook-inbox.';
  END IF;
  CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
    event_id text PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
    key text PRIMARY KEY,
    created_at timestamptz NOT NULL,
    event_id text COLLATE "C" NOT NULL
  );
  IF NOT EXISTS (SELECT FROM webhook_inbox_schema) THEN
    INSERT INTO webhook_inbox_schema (version) VALUES (1);
  END IF;
END $$;
`;

/**
 * Creates the tables if they do not exist, in the first schema of the search path. Safe to run in several processes at once.
 * @throws when they are of a newer version.
 * @example
 * ```ts
 * import { ensureTables } from "@loyalty-cards/webhook-inbox/postgres";
 * import pg from "pg";
 *
 * await ensureTables(new pg.Pool()); // or run migrations/postgres/*.sql with your own tool
 * ```
 */
export async function ensureTables(client: PostgresClient): Promise<void> {
  await queryRows(client, tables, []);
}

/**
 * Marks an event as processed, in the transaction that writes its effect. A concurrent duplicate waits until that transaction
 * has ended. @returns false when the event was processed before: skip it. With several services or
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
 *   if (!(await isNewest(client, `balance of ${passId}`, event))) return; // a newer balance is stored
 *   const save = "INSERT INTO balances VALUES ($1, $2) ON CONFLICT (card) DO UPDATE SET balance = excluded.balance";
 *   await client.query(save, [passId, balance]);
 * }
 * ```
 */
export async function markProcessed(
  transaction: PostgresTransaction,
  event: Pick<OrderedEvent, "id">,
  { source = "" }: { source?: string } = {},
): Promise<boolean> {
  const rows = await queryRows(
    requireOwn(transaction),
    "INSERT INTO webhook_inbox_processed (event_id) VALUES ($1::text) ON CONFLICT DO NOTHING RETURNING 1",
    [toEventKey(event, source)],
  );
  return rows.length > 0;
}

/**
 * Records an event as the newest of its key. @returns false when a newer event of the key was recorded before.
 * When two events have the same `createdAt`, the one with the greater id is the newer, in whichever order they arrive. That is correct
 * if ids sort by creation, and arbitrary if they are random ([spec 6.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-1) promises neither). Read
 * the card with `getCard` where that matters.
 * @throws {TypeError} for a client that is not in a transaction, and for a `createdAt` that is not a date.
 * @example
 * ```ts
 * import { isNewest, markProcessed, type PostgresTransaction } from "@loyalty-cards/webhook-inbox/postgres";
 * import type { TierChanged } from "@loyalty-cards/webhook-verify";
 *
 * export async function isToBeApplied(transaction: PostgresTransaction, event: TierChanged): Promise<boolean> {
 *   if (!(await markProcessed(transaction, event))) return false; // processed before
 *   return isNewest(transaction, `tier of ${event.data.passId}`, event); // false when a newer tier is stored
 * }
 * ```
 */
export async function isNewest(
  transaction: PostgresTransaction,
  key: string,
  event: OrderedEvent,
): Promise<boolean> {
  const createdAt = new Date(parseCreatedAt(event)).toISOString();
  const rows = await queryRows(
    requireOwn(transaction),
    `INSERT INTO webhook_inbox_newest AS newest (key, created_at, event_id)
     VALUES ($1::text, $2::text::timestamptz, $3::text)
     ON CONFLICT (key) DO UPDATE SET created_at = excluded.created_at, event_id = excluded.event_id
     WHERE (excluded.created_at, excluded.event_id) > (newest.created_at, newest.event_id)
     RETURNING 1`,
    [key, createdAt, event.id],
  );
  return rows.length > 0;
}

/** Outside of a transaction an event would be marked before its effect is written. */
const requireOwn = (transaction: PostgresTransaction) =>
  requireTransaction(
    transaction,
    "writes the effect of the event",
    "marked outside of it, an event is lost when its handler fails",
  );

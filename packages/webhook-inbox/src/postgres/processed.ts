/** Exactly-once, in-order effects in the user's own PostgreSQL: call these inside the handler's transaction. */
import { createdAtMs, type Occurrence } from "../created-at.ts";
import { tables } from "./tables.ts";
import { checkedTransaction, type PostgresClient, type PostgresTransaction, rowsOf } from "./transaction.ts";

/**
 * Makes the tables where they are missing, in the first schema of the search path. Processes may do so at once.
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
  await rowsOf(client, tables, []);
}

/**
 * Marks an event as processed, in the transaction that has its effect. A second copy waits until that transaction has
 * ended. @returns false when the event was marked before: then its effect stands already, and you do nothing.
 * @throws {TypeError} for what is no transaction.
 * @example
 * ```ts
 * import { ensureTables, isNewest, markProcessed, withPgTransaction } from "@loyalty-cards/webhook-inbox/postgres";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import pg from "pg";
 *
 * const pool = new pg.Pool();
 * await ensureTables(pool);
 * export const handler = onEvents({
 *   "balance.changed": (event) =>
 *     withPgTransaction(pool, async (transaction) => {
 *       if (!(await markProcessed(transaction, event))) return; // its effect stands already
 *       const { passId, balance } = event.data;
 *       if (!(await isNewest(transaction, `balance of ${passId}`, event))) return; // came late
 *       await transaction.query("UPDATE users SET balance = $1 WHERE card = $2", [balance, passId]);
 *     }),
 *   other: () => {},
 * });
 * ```
 */
export async function markProcessed(
  transaction: PostgresTransaction,
  event: Pick<Occurrence, "id">,
): Promise<boolean> {
  const rows = await rowsOf(
    checkedTransaction(transaction),
    "INSERT INTO webhook_inbox_processed (event_id) VALUES ($1::text) ON CONFLICT DO NOTHING RETURNING 1",
    [event.id],
  );
  return rows.length > 0;
}

/**
 * Tells whether an event is the newest of its key so far, and remembers it. @returns false for what arrives late.
 * Of two events of one millisecond the one with the greater id is the newest, in whichever order they come: right where ids
 * sort by creation, a coin flip where they are random (spec 6.1 promises neither). Read the card with `getCard` where that matters.
 * @throws {TypeError} for what is no transaction, and for a `createdAt` that is no date.
 * @example
 * ```ts
 * import { isNewest, markProcessed, type PostgresTransaction } from "@loyalty-cards/webhook-inbox/postgres";
 * import type { TierChanged } from "@loyalty-cards/webhook-verify";
 *
 * export async function isToBeApplied(transaction: PostgresTransaction, event: TierChanged): Promise<boolean> {
 *   if (!(await markProcessed(transaction, event))) return false; // its effect stands already
 *   return isNewest(transaction, `tier of ${event.data.passId}`, event); // false for what came late
 * }
 * ```
 */
export async function isNewest(
  transaction: PostgresTransaction,
  key: string,
  event: Occurrence,
): Promise<boolean> {
  const createdAt = new Date(createdAtMs(event)).toISOString();
  const rows = await rowsOf(
    checkedTransaction(transaction),
    `INSERT INTO webhook_inbox_newest AS newest (key, created_at, event_id)
     VALUES ($1::text, $2::text::timestamptz, $3::text)
     ON CONFLICT (key) DO UPDATE SET created_at = excluded.created_at, event_id = excluded.event_id
     WHERE (excluded.created_at, excluded.event_id) > (newest.created_at, newest.event_id)
     RETURNING 1`,
    [key, createdAt, event.id],
  );
  return rows.length > 0;
}

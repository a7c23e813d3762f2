/** Exactly-once, in-order effects in the user's own PostgreSQL: call these inside the handler's transaction. */
import { createdAtMs, type Occurrence } from "../created-at.ts";
import { tables } from "./tables.ts";
import { checkedTransaction, type PostgresClient, type PostgresTransaction, rowsOf } from "./transaction.ts";

/**
 * Makes the tables where they are missing, in the first schema of the search path. Processes may do so at once.
 * @throws when they are of a newer version.
 */
export async function ensureTables(client: PostgresClient): Promise<void> {
  await rowsOf(client, tables, []);
}

/**
 * Marks an event as processed, in the transaction that has its effect. A second copy waits until that transaction has
 * ended. @returns false when the event was marked before: then its effect stands already, and you do nothing.
 * @throws {TypeError} for what is no transaction.
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
 * Two events of one millisecond cannot be told apart by time: the greater id wins, in whichever order they come.
 * @throws {TypeError} for what is no transaction, and for a `createdAt` that is no date.
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

/** Exactly-once, in-order effects in a SQLite database of the user's own: call these inside its transaction. */
import { createdAtMs, type Occurrence } from "../created-at.ts";
import type { SqliteDatabase } from "./database.ts";
import { processedTables } from "./processed-tables.ts";

/** Makes the two tables where they are missing. */
export function ensureTables(database: SqliteDatabase): void {
  database.exec(processedTables);
}

/**
 * Marks an event as processed, in the transaction that has its effect. @returns false when it was marked before: then
 * its effect stands already, and you do nothing.
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
 * Two events of one millisecond cannot be told apart by time: the greater id wins, in whichever order they come.
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

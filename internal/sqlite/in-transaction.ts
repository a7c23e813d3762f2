/** Finds out whether a SQLite connection is in a transaction. */
import type { SqliteDatabase } from "./database-node.ts";

/** Tests with BEGIN, which fails inside of a transaction in every binding. */
export function isInTransaction(database: SqliteDatabase): boolean {
  try {
    database.exec("BEGIN");
  } catch {
    return true;
  }
  database.exec("ROLLBACK");
  return false;
}

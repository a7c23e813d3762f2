/** SQLite files of an inbox or outbox: a complete copy while work is running, and the statements that create the tables. */
import { copyFileSync } from "node:fs";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";

/** Copies a file that is in use. The log is written into it before, so that the copy is one complete file. */
export function copyDatabase(from: string, to: string, change = ""): void {
  const database = openSqlite(from);
  try {
    database.exec(change);
    const { busy } = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
    if (Number(busy) !== 0) throw new Error(`${from} is being read, so its log cannot be truncated.`);
    copyFileSync(from, to);
  } finally {
    database.close();
  }
}

/** The tables, indexes and triggers whose names begin with the prefix, by name. */
export function readSchema(file: string, prefix: string): Record<string, string> {
  const database = openSqlite(file);
  try {
    const rows = database
      .prepare("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
      .all() as { name: string; sql: string }[];
    return Object.fromEntries(
      rows.filter(({ name }) => name.startsWith(prefix)).map(({ name, sql }) => [name, sql]),
    );
  } finally {
    database.close();
  }
}

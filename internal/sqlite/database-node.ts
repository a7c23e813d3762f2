/** Opens a SQLite file with `node:sqlite` where the runtime has it, else with the package `libsql`. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";

type Value = string | number | bigint | null | Uint8Array;

/** A prepared statement of `node:sqlite`, `libsql` or `better-sqlite3`. */
export interface SqliteStatement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

/** The part of a SQLite database that is used: `node:sqlite`, `libsql` and `better-sqlite3` have it. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** A database that an inbox or outbox opens and closes itself. */
export interface OpenSqliteDatabase extends SqliteDatabase {
  close(): unknown;
}

/** Opens a database file. Users pass such a function to use another binding. */
export type OpenSqlite = (file: string) => OpenSqliteDatabase;

/** `process.getBuiltinModule` returns undefined where a runtime lacks the module, and bundlers do not touch it. */
const nodeSqlite = () =>
  process.getBuiltinModule?.("node:sqlite") as
    | { DatabaseSync: new (file: string) => OpenSqliteDatabase }
    | undefined;

/** @throws when the runtime has neither binding, or the file cannot be opened. */
export const openSqlite: OpenSqlite = (file) => {
  const sqlite = nodeSqlite();
  if (sqlite !== undefined) return new sqlite.DatabaseSync(file);
  return openLibsql(file);
};

/**
 * Opens a file with `libsql`, also where the runtime has `node:sqlite`.
 * @throws when `libsql` is not installed.
 * @example
 * ```ts
 * import { openLibsql, sqliteInbox } from "@loyalty-cards/webhook-inbox";
 *
 * export const inbox = sqliteInbox({ file: "inbox.db", open: openLibsql });
 * ```
 */
export const openLibsql: OpenSqlite = (file) => {
  // A CommonJS bundle has no import.meta.url.
  const require = createRequire(import.meta.url ?? module.filename);
  let Database: new (file: string) => OpenSqliteDatabase;
  try {
    Database = require("libsql");
  } catch (cause) {
    throw new Error(
      `Node ${process.versions.node} has no node:sqlite, and the package libsql cannot be loaded. Run "npm install libsql", or use Node 22.13 or later.`,
      { cause },
    );
  }
  return new Database(file);
};

/** The folder of the file, if it does not exist. */
export function findMissingFolder(file: string): string | undefined {
  const folder = dirname(resolve(file));
  return existsSync(folder) ? undefined : folder;
}

/** Makes names such as `:memory:` or `file:inbox.db` ordinary file names. */
export const toAbsolutePath = (file: string): string => resolve(file);

/** After some errors, such as a full disk, SQLite has rolled back already, and rejects another ROLLBACK. */
export function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {}
}

/** Whether the error says that another connection holds the lock: then a retry helps. */
export function isBusy(error: unknown): boolean {
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown };
  return (
    code === "SQLITE_BUSY" ||
    (typeof errcode === "number" && (errcode & 0xff) === 5) ||
    /database is locked/.test(String(message))
  );
}

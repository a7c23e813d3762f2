/** What the inbox needs of a SQLite binding: `node:sqlite`, `libsql` and `better-sqlite3` all have it. */

type Value = string | number | bigint | null | Uint8Array;

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

/** As much of a SQLite binding as your own effects need. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** A database that was opened here, and so is closed here. */
export interface OpenSqliteDatabase extends SqliteDatabase {
  close(): unknown;
}

/** Opens a database file: the way to bring another binding. */
export type OpenSqlite = (file: string) => OpenSqliteDatabase;

/** Another connection holds the lock: trying again helps. */
export function isBusy(error: unknown): boolean {
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown };
  return (
    code === "SQLITE_BUSY" ||
    (typeof errcode === "number" && (errcode & 0xff) === 5) ||
    /database is locked/.test(String(message))
  );
}

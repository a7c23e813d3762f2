/**
 * Opens a SQLite file: with `node:sqlite` where the runtime has it, else with the package `libsql`.
 */
import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { getBuiltinModule } from "../builtin-module.ts";
import { createTypeError, withSafeMessage } from "../errors.ts";
import { requireFunction } from "../limits.ts";

type Value = string | number | bigint | null | Uint8Array;

/** A prepared statement of `node:sqlite`, `libsql` or `better-sqlite3`. */
export interface SqliteStatement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}

/**
 * The part of a SQLite database that is used: `node:sqlite`, `libsql` and `better-sqlite3` have it.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/**
 * A database that a user passes, with statements of any values: TypeScript 5 reads that those of
 * `better-sqlite3` may take a single object.
 */
export interface UserSqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): Record<keyof SqliteStatement, (...values: never[]) => unknown>;
}

/** A database that an inbox or outbox opens and closes itself. */
export interface OpenSqliteDatabase extends SqliteDatabase {
  close(): unknown;
}

/** Opens a database file. */
export type OpenSqlite = (file: string) => OpenSqliteDatabase;

/** A function of a user that opens a database file with another binding. */
export type OpenUserSqlite = (file: string) => UserSqliteDatabase & { close(): unknown };

/** @throws {TypeError} when the options are not the name of a file, and a function. */
export function requireFileOptions(caller: string, file: unknown, open: unknown): void {
  requireFunction("open", open, ", such as (file) => new Database(file)");
  const isUrl = file instanceof URL || /^file:\/\//i.test(String(file));
  if (typeof file === "string" && file !== "" && !file.startsWith(":memory:") && !isUrl) return;
  const advice = isUrl ? " This is a URL: pass fileURLToPath(url)." : "";
  throw createTypeError(`${caller} needs a file on a disk: { file: "shop.db" }.${advice}`);
}

/** @throws when the runtime has neither binding, or the file cannot be opened. */
export const openSqlite: OpenSqlite = (file) => {
  const sqlite = getBuiltinModule("node:sqlite") as
    | { DatabaseSync: new (file: string) => OpenSqliteDatabase }
    | undefined;
  return sqlite === undefined ? openLibsql(file) : new sqlite.DatabaseSync(file);
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
  let Database: new (file: string) => OpenSqliteDatabase;
  try {
    // CommonJS loads it by `module.require`, because tracers of files recognize that.
    const isCommonJs = typeof module === "object" && typeof module.require === "function";
    const libsql = isCommonJs ? module.require("libsql") : createRequire(import.meta.url)("libsql");
    Database = libsql.default ?? libsql; // a namespace in an ES module of webpack
  } catch (cause) {
    const alternative =
      getBuiltinModule("node:sqlite") === undefined
        ? ` Node ${process.versions.node} has no node:sqlite: Node 22.13 or later has it.`
        : "";
    throw withSafeMessage(
      new Error(
        `The package libsql cannot be loaded. Run "npm install libsql": a bundle needs node_modules with it beside itself.${alternative}`,
        { cause },
      ),
    );
  }
  return new Database(file);
};

/** How long to wait for another process that uses the file, in milliseconds. */
export const busyTimeoutMs = 5_000;

/**
 * Opens a file for its owner only, whose commits are on the disk before they return, and whose
 * deleted data is overwritten.
 * @param options `caller`: the public function, for the error message, such as `sqliteInbox`.
 * `prepare` creates the tables that are missing. It throws when they must not be used.
 * @throws when the file cannot be used.
 */
export function openDurableFile({
  caller,
  file,
  open,
  prepare,
}: {
  caller: string;
  file: string;
  open: OpenUserSqlite;
  prepare: (database: SqliteDatabase) => void;
}): OpenSqliteDatabase {
  const path = resolve(file); // also names such as `file:inbox.db` are ordinary file names
  let database: OpenSqliteDatabase | undefined;
  try {
    createPrivately(path);
    const opened: unknown = open(path);
    if (typeof (opened as SqliteDatabase | null)?.exec !== "function")
      throw createTypeError("open must return a database, not a promise or another value");
    database = opened as OpenSqliteDatabase;
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    switchToWal(database);
    // Temporary files would keep copies of what is deleted, and cost an idle worker time.
    database.exec(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY",
    );
    prepare(database);
    return database;
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const folder = dirname(path);
    const advice = existsSync(folder) ? "" : `. Create its folder first: ${folder}`;
    throw withSafeMessage(
      new Error(`${caller} cannot use the file "${file}": ${reason}${advice}`, { cause }),
    );
  }
}

/**
 * SQLite gives its other files the same mode. An existing file stays as it is; closing it here
 * would end the locks of this process on it.
 */
function createPrivately(path: string): void {
  try {
    writeFileSync(path, "", { flag: "ax", mode: 0o600 });
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  }
}

/** SQLite itself does not wait when two processes switch a new file at once. */
function switchToWal(database: SqliteDatabase): void {
  const untilMs = Date.now() + busyTimeoutMs;
  for (;;) {
    try {
      const mode = database.prepare("PRAGMA journal_mode = WAL").get() as { journal_mode: string };
      if (mode.journal_mode === "wal") return;
      throw withSafeMessage(
        new Error(
          `its journal mode stays "${mode.journal_mode}": it needs a file system with shared memory`,
        ),
      );
    } catch (error) {
      if (!isBusy(error) || Date.now() > untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/**
 * After some errors, such as a full disk, SQLite has rolled back already, and rejects another
 * ROLLBACK.
 */
export function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {}
}

/**
 * Whether another connection holds the lock: then a retry helps. Codes differ between the bindings;
 * the message is SQLite's own.
 */
export const isBusy = (error: unknown): boolean =>
  /database is locked/.test(String((error as Error | undefined)?.message));

/**
 * Whether two names are of one file. A file that does not exist, such as a database in memory, is
 * like no other.
 */
export function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

/** Opens a SQLite file for jobs: durable, readable by its owner only, with the tables of a package. */
import { closeSync, openSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import {
  findMissingFolder,
  isBusy,
  type OpenSqlite,
  type OpenSqliteDatabase,
  rollBack,
  type SqliteDatabase,
} from "../sqlite/database-node.ts";

export interface JobsFile {
  /** The public function, for the error message, such as `sqliteInbox`. */
  caller: string;
  file: string;
  open: OpenSqlite;
  /** The statements that create the tables, if they do not exist. */
  tables: string;
  /** The last one of these tables. */
  lastTable: string;
  /** Runs before the file is used. It throws when the tables must not be used. */
  check(database: SqliteDatabase): void;
}

/** How long to wait for another process that uses the file, in milliseconds. */
const busyTimeoutMs = 5_000;

/** @throws when the file cannot be used. */
export function openJobsFile({ caller, file, open, tables, lastTable, check }: JobsFile): OpenSqliteDatabase {
  let database: OpenSqliteDatabase | undefined;
  try {
    createPrivately(file);
    database = open(resolve(file)); // also names such as `file:inbox.db` are ordinary file names
    configure(database);
    createTables(database, tables, lastTable);
    check(database);
    return database;
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const folder = findMissingFolder(file);
    const advice = folder === undefined ? "" : `. Create its folder first: ${folder}`;
    throw new Error(`${caller} cannot use the file "${file}": ${reason}${advice}`, { cause });
  }
}

/** Creates a file for its owner only. SQLite gives its other files the same mode. An existing file stays as it is. */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(resolve(file), "ax", 0o600));
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EEXIST") throw error;
  }
}

function configure(database: SqliteDatabase): void {
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  const mode = retryWhileBusy(() => database.prepare("PRAGMA journal_mode = WAL").get()) as
    | { journal_mode?: string }
    | undefined;
  if (mode?.journal_mode !== "wal")
    throw new Error(
      `its journal mode stays "${mode?.journal_mode}": it needs a file system with shared memory`,
    );
  database.exec("PRAGMA synchronous = FULL"); // a commit is on the disk before it returns
  database.exec("PRAGMA secure_delete = ON"); // what is deleted is overwritten
}

/** Creates the tables, in a transaction only when the last one is missing: another connection of this process may have one open. */
function createTables(database: SqliteDatabase, tables: string, lastTable: string): void {
  const find = database.prepare("SELECT name FROM sqlite_master WHERE name = ?");
  if (find.get(lastTable) !== undefined) return;
  retryWhileBusy(() => database.exec("BEGIN IMMEDIATE"));
  try {
    database.exec(tables);
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** SQLite itself does not wait when two processes switch a new file to WAL at once. */
function retryWhileBusy<Result>(attempt: () => Result): Result {
  const untilMs = Date.now() + busyTimeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || Date.now() > untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** Whether two names are of one file. A file that does not exist, such as a database in memory, is like no other. */
export function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

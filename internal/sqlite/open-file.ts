/** Opens a SQLite file: configures durability, and creates and migrates the tables of a package. */
import {
  findMissingFolder,
  isBusy,
  type OpenSqlite,
  type OpenSqliteDatabase,
  rollBack,
  type SqliteDatabase,
  toAbsolutePath,
} from "./database-node.ts";

/** The tables of a package in a file, which may contain others. */
export interface DatabaseSchema {
  /** The package to update when the tables are of a newer version, for the error message. */
  packageName: string;
  /** The table in which the version of the tables is stored. */
  versionTable: string;
  /** Each migration brings the tables to the next version; migrations are added, never changed. */
  migrations: readonly string[];
  /** Creates tables that are not part of a migration, because their users create them in other files too. */
  ensureTables?: (database: SqliteDatabase) => void;
}

/** How long to wait for another process that opens the file at the same time. */
const startTimeoutMs = 5_000;

/**
 * @param caller the public function, for the error message, such as `sqliteInbox`.
 * @throws when the file cannot be used, or its tables are of a newer version.
 */
export function openFile(
  caller: string,
  file: string,
  open: OpenSqlite,
  schema: DatabaseSchema,
): OpenSqliteDatabase {
  let database: OpenSqliteDatabase | undefined;
  try {
    database = open(toAbsolutePath(file));
    prepare(database, schema);
    return database;
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const folder = findMissingFolder(file);
    const advice = folder === undefined ? "" : `. Create its folder first: ${folder}`;
    throw new Error(`${caller} cannot use the file "${file}": ${reason}${advice}`, { cause });
  }
}

function prepare(database: SqliteDatabase, schema: DatabaseSchema): void {
  database.exec(`PRAGMA busy_timeout = ${startTimeoutMs}`);
  const mode = retryWhileBusy(() => database.prepare("PRAGMA journal_mode = WAL").get()) as
    | { journal_mode?: string }
    | undefined;
  if (mode?.journal_mode !== "wal")
    throw new Error(
      `its journal mode stays "${mode?.journal_mode}": it needs a file system with shared memory`,
    );
  database.exec("PRAGMA synchronous = FULL"); // a commit is on the disk before it returns
  // A checkpoint blocks the event loop. With a million waiting events and 64 concurrent puts the longest block is 16 ms; with 250 pages
  // it is 27 ms, and 41 ms with SQLite's default of 1 000. The throughput is the same.
  database.exec("PRAGMA wal_autocheckpoint = 64");
  runAtStart(database, () => migrate(database, schema));
}

/** Runs `work` in a transaction before the file is used: it waits up to 5 s for the transactions of other processes. */
export function runAtStart<Result>(database: SqliteDatabase, work: () => Result): Result {
  retryWhileBusy(() => database.exec("BEGIN IMMEDIATE"));
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function migrate(
  database: SqliteDatabase,
  { packageName, versionTable, migrations, ensureTables }: DatabaseSchema,
): void {
  database.exec(`CREATE TABLE IF NOT EXISTS ${versionTable} (version INTEGER NOT NULL)`);
  const row = database.prepare(`SELECT max(version) AS version FROM ${versionTable}`).get();
  const version = (row as { version: number | null }).version ?? 0;
  if (version > migrations.length) {
    throw new Error(
      `its tables are of version ${version} and this package knows ${migrations.length}: update ${packageName}`,
    );
  }
  for (const migration of migrations.slice(version)) database.exec(migration);
  ensureTables?.(database);
  if (version < migrations.length)
    database.prepare(`INSERT INTO ${versionTable} (version) VALUES (?)`).run(migrations.length);
}

/** SQLite itself does not wait when two processes switch a new file to WAL at once. */
function retryWhileBusy<Result>(attempt: () => Result): Result {
  const untilMs = Date.now() + startTimeoutMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || Date.now() > untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

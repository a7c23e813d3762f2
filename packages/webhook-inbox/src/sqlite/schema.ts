/** The inbox's tables in a SQLite file, made and brought up to date when the file is opened. */

import { isBusy, type OpenSqliteDatabase, type SqliteDatabase } from "./database.ts";
import { processedTables } from "./processed-tables.ts";

/** Each step takes the tables one version further; steps are added, never changed. */
const steps: readonly string[] = [
  `CREATE TABLE webhook_inbox_events (
    id TEXT PRIMARY KEY NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'dead')),
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease TEXT,
    last_failure TEXT,
    ended_at INTEGER
  );
  CREATE INDEX webhook_inbox_waiting ON webhook_inbox_events (due_at, received_at) WHERE state = 'waiting';
  CREATE INDEX webhook_inbox_ended ON webhook_inbox_events (state, ended_at) WHERE state <> 'waiting';
  ${processedTables}`,
];

/** How long the start may wait for another process that is starting too. */
const startTimeoutMs = 5_000;

/** Makes a database durable and ready. @throws when the file cannot be used, or is of a newer version. */
export function prepare(database: OpenSqliteDatabase): void {
  database.exec(`PRAGMA busy_timeout = ${startTimeoutMs}`);
  const mode = onceFree(() => database.prepare("PRAGMA journal_mode = WAL").get()) as
    | { journal_mode?: string }
    | undefined;
  if (mode?.journal_mode !== "wal")
    throw new Error(
      `its journal mode stays "${mode?.journal_mode}": it needs a file system with shared memory`,
    );
  database.exec("PRAGMA synchronous = FULL"); // a commit is on the disk before it returns
  onceFree(() => database.exec("BEGIN IMMEDIATE"));
  try {
    migrate(database);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function migrate(database: SqliteDatabase): void {
  database.exec("CREATE TABLE IF NOT EXISTS webhook_inbox_schema (version INTEGER NOT NULL)");
  const row = database.prepare("SELECT max(version) AS version FROM webhook_inbox_schema").get();
  const version = (row as { version: number | null }).version ?? 0;
  if (version > steps.length) {
    throw new Error(
      `its tables are of version ${version} and this package knows ${steps.length}: update @loyalty-cards/webhook-inbox`,
    );
  }
  for (const step of steps.slice(version)) database.exec(step);
  if (version < steps.length)
    database.prepare("INSERT INTO webhook_inbox_schema (version) VALUES (?)").run(steps.length);
}

/** SQLite itself does not wait when two processes switch a new file to WAL at once. */
function onceFree<Result>(attempt: () => Result): Result {
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

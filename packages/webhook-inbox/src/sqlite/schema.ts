/** The inbox's tables in a SQLite file, created and migrated when the file is opened. */
import { isBusy, type OpenSqliteDatabase, type SqliteDatabase } from "./database-node.ts";
import { ensureTables } from "./processed.ts";

/** Each migration brings the tables to the next version; migrations are added, never changed. */
const migrations: readonly string[] = [
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
  CREATE INDEX webhook_inbox_ended ON webhook_inbox_events (state, ended_at) WHERE state <> 'waiting';`,
  // Every statement of the store finds its rows by one of these indexes; counts and the latest time are in one row.
  `DROP INDEX webhook_inbox_waiting;
  DROP INDEX webhook_inbox_ended;
  CREATE INDEX webhook_inbox_due ON webhook_inbox_events (due_at) WHERE state = 'waiting';
  CREATE INDEX webhook_inbox_received ON webhook_inbox_events (state, received_at);
  CREATE INDEX webhook_inbox_done ON webhook_inbox_events (ended_at) WHERE state = 'done';
  CREATE TABLE webhook_inbox_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    waiting INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    latest_at INTEGER NOT NULL
  );
  INSERT INTO webhook_inbox_state
    SELECT 1, count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'dead'),
      max(coalesce(max(received_at), 0), coalesce(max(ended_at), 0))
    FROM webhook_inbox_events;
  CREATE TRIGGER webhook_inbox_event_stored AFTER INSERT ON webhook_inbox_events BEGIN
    UPDATE webhook_inbox_state SET waiting = waiting + (NEW.state = 'waiting'), dead = dead + (NEW.state = 'dead') WHERE id = 1;
  END;
  CREATE TRIGGER webhook_inbox_event_moved AFTER UPDATE OF state ON webhook_inbox_events WHEN OLD.state <> NEW.state BEGIN
    UPDATE webhook_inbox_state SET
      waiting = waiting + (NEW.state = 'waiting') - (OLD.state = 'waiting'),
      dead = dead + (NEW.state = 'dead') - (OLD.state = 'dead')
    WHERE id = 1;
  END;
  CREATE TRIGGER webhook_inbox_event_deleted AFTER DELETE ON webhook_inbox_events WHEN OLD.state <> 'done' BEGIN
    UPDATE webhook_inbox_state SET waiting = waiting - (OLD.state = 'waiting'), dead = dead - (OLD.state = 'dead') WHERE id = 1;
  END;`,
];

/** How long to wait for another process that opens the file at the same time. */
const startTimeoutMs = 5_000;

/** Configures durability and migrates the tables. @throws when the file cannot be used, or its tables are of a newer version. */
export function prepareDatabase(database: OpenSqliteDatabase): void {
  database.exec(`PRAGMA busy_timeout = ${startTimeoutMs}`);
  const mode = retryWhileBusy(() => database.prepare("PRAGMA journal_mode = WAL").get()) as
    | { journal_mode?: string }
    | undefined;
  if (mode?.journal_mode !== "wal")
    throw new Error(
      `its journal mode stays "${mode?.journal_mode}": it needs a file system with shared memory`,
    );
  database.exec("PRAGMA synchronous = FULL"); // a commit is on the disk before it returns
  // A checkpoint blocks the event loop. Longest block with a million events waiting, 64 puts at once: 16 ms; 27 ms at 250 pages,
  // 41 ms at SQLite's default of 1 000. The throughput is the same.
  database.exec("PRAGMA wal_autocheckpoint = 64");
  retryWhileBusy(() => database.exec("BEGIN IMMEDIATE"));
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
  if (version > migrations.length) {
    throw new Error(
      `its tables are of version ${version} and this package knows ${migrations.length}: update @loyalty-cards/webhook-inbox`,
    );
  }
  for (const migration of migrations.slice(version)) database.exec(migration);
  ensureTables(database);
  if (version < migrations.length)
    database.prepare("INSERT INTO webhook_inbox_schema (version) VALUES (?)").run(migrations.length);
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

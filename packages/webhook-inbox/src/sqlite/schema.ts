/** The inbox's tables in a SQLite file, created and migrated when the file is opened. */
import type { DatabaseSchema } from "@loyalty-cards/internal/sqlite/open-file";
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
  // An event belongs to a source, so that the same id from two services is two events. Each source has its own counts.
  `DROP TRIGGER webhook_inbox_event_stored;
  DROP TRIGGER webhook_inbox_event_moved;
  DROP TRIGGER webhook_inbox_event_deleted;
  ALTER TABLE webhook_inbox_events RENAME TO webhook_inbox_events_2;
  DROP INDEX webhook_inbox_due;
  DROP INDEX webhook_inbox_received;
  DROP INDEX webhook_inbox_done;
  CREATE TABLE webhook_inbox_events (
    source TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'dead')),
    due_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease TEXT,
    last_failure TEXT,
    ended_at INTEGER,
    PRIMARY KEY (source, id)
  );
  INSERT INTO webhook_inbox_events (id, type, body, received_at, state, due_at, attempts, lease, last_failure, ended_at)
    SELECT id, type, body, received_at, state, due_at, attempts, lease, last_failure, ended_at
    FROM webhook_inbox_events_2 ORDER BY rowid;
  DROP TABLE webhook_inbox_events_2;
  CREATE INDEX webhook_inbox_due ON webhook_inbox_events (source, due_at) WHERE state = 'waiting';
  CREATE INDEX webhook_inbox_received ON webhook_inbox_events (source, state, received_at);
  CREATE INDEX webhook_inbox_done ON webhook_inbox_events (source, ended_at) WHERE state = 'done';
  CREATE TABLE webhook_inbox_counts (source TEXT PRIMARY KEY NOT NULL, waiting INTEGER NOT NULL, dead INTEGER NOT NULL);
  INSERT INTO webhook_inbox_counts SELECT '', waiting, dead FROM webhook_inbox_state;
  ALTER TABLE webhook_inbox_state DROP COLUMN waiting;
  ALTER TABLE webhook_inbox_state DROP COLUMN dead;
  CREATE TRIGGER webhook_inbox_event_stored AFTER INSERT ON webhook_inbox_events BEGIN
    UPDATE webhook_inbox_counts SET waiting = waiting + (NEW.state = 'waiting'), dead = dead + (NEW.state = 'dead')
    WHERE source = NEW.source;
  END;
  CREATE TRIGGER webhook_inbox_event_moved AFTER UPDATE OF state ON webhook_inbox_events WHEN OLD.state <> NEW.state BEGIN
    UPDATE webhook_inbox_counts SET
      waiting = waiting + (NEW.state = 'waiting') - (OLD.state = 'waiting'),
      dead = dead + (NEW.state = 'dead') - (OLD.state = 'dead')
    WHERE source = NEW.source;
  END;
  CREATE TRIGGER webhook_inbox_event_deleted AFTER DELETE ON webhook_inbox_events WHEN OLD.state <> 'done' BEGIN
    UPDATE webhook_inbox_counts SET waiting = waiting - (OLD.state = 'waiting'), dead = dead - (OLD.state = 'dead')
    WHERE source = OLD.source;
  END;`,
  // The traceparent of the receipt, with `tracing`.
  "ALTER TABLE webhook_inbox_events ADD COLUMN traceparent TEXT",
];

/** The tables, and the row in which the events of this source are counted. */
export const createSchema = (source: string): DatabaseSchema => ({
  packageName: "@loyalty-cards/webhook-inbox",
  versionTable: "webhook_inbox_schema",
  migrations,
  ensureTables(database) {
    ensureTables(database);
    database.prepare("INSERT INTO webhook_inbox_counts VALUES (?, 0, 0) ON CONFLICT DO NOTHING").run(source);
  },
});

/** The inbox's tables in a SQLite file, created and migrated when the file is opened. */
import type { DatabaseSchema } from "@loyalty-cards/internal/sqlite/open-file";
import { ensureTables } from "./processed.ts";

/** Each migration brings the tables to the next version; migrations are added, never changed. */
const migrations: readonly string[] = [
  // Every statement of the store finds its rows by one of these indexes. Triggers count the events of each source.
  `CREATE TABLE webhook_inbox_events (
    source TEXT NOT NULL,
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
  CREATE INDEX webhook_inbox_due ON webhook_inbox_events (source, due_at) WHERE state = 'waiting';
  CREATE INDEX webhook_inbox_received ON webhook_inbox_events (source, state, received_at);
  CREATE INDEX webhook_inbox_done ON webhook_inbox_events (source, ended_at) WHERE state = 'done';
  CREATE TABLE webhook_inbox_state (id INTEGER PRIMARY KEY CHECK (id = 1), latest_at INTEGER NOT NULL);
  INSERT INTO webhook_inbox_state VALUES (1, 0);
  CREATE TABLE webhook_inbox_counts (source TEXT PRIMARY KEY NOT NULL, waiting INTEGER NOT NULL, dead INTEGER NOT NULL);
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

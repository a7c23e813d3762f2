CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
  event_id TEXT PRIMARY KEY NOT NULL,
  processed_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
  key TEXT PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  event_id TEXT NOT NULL
);

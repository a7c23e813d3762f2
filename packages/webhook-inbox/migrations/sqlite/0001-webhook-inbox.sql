CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
  event TEXT PRIMARY KEY NOT NULL,
  processed INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
  key TEXT PRIMARY KEY NOT NULL,
  created INTEGER NOT NULL,
  event TEXT NOT NULL
);

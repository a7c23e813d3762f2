/** The tables of `markProcessed` and `isNewest` in SQLite. The same text is `migrations/sqlite/0001-webhook-inbox.sql`. */
export const processedTables = `CREATE TABLE IF NOT EXISTS webhook_inbox_processed (
  event_id TEXT PRIMARY KEY NOT NULL,
  processed_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS webhook_inbox_newest (
  key TEXT PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  event_id TEXT NOT NULL
);
`;

/** Entry point: inboxes on SQLite, pg-boss and BullMQ. */

// pg-boss and BullMQ

export { type BullMqQueueLike, type BullmqInbox, type BullmqInboxOptions, bullmqInbox } from "./bullmq.ts";
export { inboxHandler, type QueueDelivery, type QueueHandler } from "./inbox-handler.ts";
export { type PgBossInbox, type PgBossInboxOptions, pgBossInbox } from "./pg-boss.ts";
export type { PgBossLike } from "./pg-boss-insert.ts";

// Every inbox

export type {
  EventRef,
  InboxEntry,
  InboxHealth,
  InboxOutcome,
  InspectableInbox,
  ListOptions,
} from "./reports.ts";

// SQLite

export {
  type OpenSqlite,
  type OpenSqliteDatabase,
  openLibsql,
  type SqliteDatabase,
  type SqliteStatement,
} from "@loyalty-cards/internal/sqlite/database-node";
export { type SqliteInbox, type SqliteInboxOptions, sqliteInbox } from "./sqlite/inbox.ts";
export type { SqliteDelivery, SqliteHandler, SqliteWorker } from "./sqlite/worker.ts";
export type { SqliteWorkerOptions } from "./sqlite/worker-options.ts";

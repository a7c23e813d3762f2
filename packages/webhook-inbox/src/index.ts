/** Entry point: inboxes on SQLite, pg-boss and BullMQ. */

// SQLite
export { openLibsql } from "@loyalty-cards/internal/sqlite/database-node";
// pg-boss and BullMQ
export { type BullmqInboxOptions, bullmqInbox } from "./bullmq.ts";
export { inboxHandler, type QueueDelivery, type QueueHandler } from "./inbox-handler.ts";
export type { InboxOutcome } from "./outcomes.ts";
export { type PgBossInboxOptions, pgBossInbox } from "./pg-boss.ts";
// Every inbox
export type { ReplayableInbox } from "./replayable-inbox.ts";
export { sqliteInbox } from "./sqlite/create-inbox.ts";
export type {
  InboxEntry,
  InboxHealth,
  SqliteInbox,
  SqliteInboxOptions,
  SqliteWorker,
} from "./sqlite/inbox.ts";
export type { SqliteDelivery, SqliteHandler } from "./sqlite/worker.ts";

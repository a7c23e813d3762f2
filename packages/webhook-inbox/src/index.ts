/** The face of the package: where events wait, and who works on them. */

// On engines that run already
export { type BullmqInbox, type BullmqInboxOptions, type BullQueue, bullmqInbox } from "./bullmq.ts";
export type { InboxEntry, InboxHealth, InspectableInbox, ListOptions } from "./health.ts";
export { inboxHandler, type QueueDelivery, type QueueHandler } from "./inbox-handler.ts";
export type { EventName, InboxOutcome } from "./outcome.ts";
export { type PgBossInbox, type PgBossInboxOptions, type PgBossLike, pgBossInbox } from "./pg-boss.ts";
// In a file
export type { SqliteDelivery, SqliteHandler } from "./sqlite/attempt.ts";
export type { OpenSqlite, OpenSqliteDatabase, SqliteDatabase, SqliteStatement } from "./sqlite/database.ts";
export { type SqliteInbox, type SqliteInboxOptions, sqliteInbox } from "./sqlite/inbox.ts";
export { openLibsql } from "./sqlite/open-node.ts";
export type { SqliteWorker } from "./sqlite/worker.ts";
export type { SqliteWorkerOptions } from "./sqlite/worker-options.ts";

/** The face of the package: where events wait, and who works on them. */

// Looking after it
export type { InboxEntry, InboxHealth, InspectableInbox, ListOptions } from "./health.ts";
export type { EventName, InboxOutcome } from "./outcome.ts";
// One machine
export type { OpenSqlite, OpenSqliteDatabase, SqliteDatabase, SqliteStatement } from "./sqlite/database.ts";
export { type SqliteInbox, type SqliteInboxOptions, sqliteInbox } from "./sqlite/inbox.ts";
export { openLibsql } from "./sqlite/open-node.ts";
export type { SqliteDelivery, SqliteHandler, SqliteWorker, SqliteWorkerOptions } from "./sqlite/worker.ts";

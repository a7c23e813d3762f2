/** Entry point: an outbox in a SQLite file. */
export { openLibsql, type SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
export type { CorrectionResult } from "./correction.ts";
export type { KnownCard, OutboxCounts, OutboxEntry, OutboxState, OwedCard } from "./entry.ts";
export type { Outbox, OutboxOptions, OutboxWorker } from "./outbox.ts";
export type { OutboxOutcome } from "./report.ts";
export { type SqliteOutbox, type SqliteOutboxOptions, sqliteOutbox } from "./sqlite.ts";

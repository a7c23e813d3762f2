/** Entry point: an outbox in a SQLite file. */
export { openLibsql, type SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
export type { CorrectionResult } from "./changes.ts";
export type {
  OutboxCounts,
  OutboxEntry,
  OutboxEntryError,
  OutboxState,
  OwedCard,
} from "./entry.ts";
export type {
  DrainOptions,
  IssueOptions,
  ListOptions,
  Outbox,
  OutboxOptions,
  OutboxWorker,
  WorkOptions,
} from "./outbox.ts";
export type { OutboxOutcome } from "./outcomes.ts";
export { type SqliteOutbox, type SqliteOutboxOptions, sqliteOutbox } from "./sqlite.ts";

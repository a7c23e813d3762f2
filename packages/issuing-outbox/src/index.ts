/** Entry point: an outbox in a SQLite file. */
export {
  type OpenSqlite,
  type OpenSqliteDatabase,
  openLibsql,
  type SqliteDatabase,
  type SqliteStatement,
} from "@loyalty-cards/internal/sqlite/database-node";
export type { CorrectionResult, Resolution } from "./changes.ts";
export type {
  KnownCard,
  OutboxCounts,
  OutboxEntry,
  OutboxEntryError,
  OutboxState,
  OwedCard,
  Pause,
  PauseReason,
} from "./entry.ts";
export type {
  DrainOptions,
  EntryInput,
  IssueOptions,
  ListOptions,
  Outbox,
  OutboxOptions,
  OutboxWorker,
  TemplateOption,
} from "./outbox.ts";
export type { EntryRef, OutboxOutcome, ReportOptions } from "./report.ts";
export { type SqliteOutbox, type SqliteOutboxOptions, sqliteOutbox } from "./sqlite.ts";
export type { WorkOptions } from "./worker.ts";

/** What `sqliteInbox` takes and returns: its options and methods, and their documentation. */
import type { Synchronous } from "@loyalty-cards/internal/jobs/sqlite";
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import type { OpenUserSqlite, SqliteDatabase } from "@loyalty-cards/internal/sqlite/database-node";
import type { Clock } from "@loyalty-cards/internal/timers";
import { type ReportOptions, reportOptionNames } from "../outcomes.ts";
import type { ReplayableInbox } from "../replayable-inbox.ts";
import { type SqliteHandler, type SqliteWorkerOptions, workerOptionNames } from "./worker.ts";

/** The file, and how long events are remembered. */
export interface SqliteInboxOptions extends ReportOptions {
  /**
   * The database file, on a local disk. It is opened at first use, and created for its owner only
   * if it does not exist. It may contain tables of your own. Hold no transaction on it across an
   * `await`: storing an event waits for it, at most 5 seconds.
   */
  file: string;
  /**
   * The service that sends the events, or the endpoint that receives them. Default `""`. Events of
   * two sources are never duplicates of each other, and each inbox processes, lists and counts the
   * events of its own source only.
   */
  source?: string;
  /**
   * How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters
   * are not deleted.
   */
  retentionSeconds?: number;
  /** Opens the file. Default: `node:sqlite` where the runtime has it, else the package `libsql`. */
  open?: OpenUserSqlite;
  /** Set by tests only. */
  testing?: { clock?: Partial<Clock>; random?: () => number };
}

export const inboxOptionNames = {
  file: true,
  source: true,
  retentionSeconds: true,
  open: true,
  testing: true,
  ...reportOptionNames,
} satisfies OptionNames<SqliteInboxOptions>;

type Testing = NonNullable<SqliteInboxOptions["testing"]>;
export const testingNames = { clock: true, random: true } satisfies OptionNames<Testing>;

type ListOptions = NonNullable<Parameters<SqliteInbox["list"]>[0]>;
export const listOptionNames = { state: true, limit: true } satisfies OptionNames<ListOptions>;

type DrainOptions = NonNullable<Parameters<SqliteInbox["drain"]>[1]>;
export const drainOptionNames = {
  maxMs: true,
  ...workerOptionNames,
} satisfies OptionNames<DrainOptions>;

export const states: readonly unknown[] = [
  "waiting",
  "done",
  "dead",
] satisfies InboxEntry["state"][];

/** The state of an inbox. The caller decides how many events may wait, and for how long. */
export interface InboxHealth {
  /** Whether the file can be read. When it cannot be written, the outcome is `not-stored`. */
  isReachable: boolean;
  /** Events that wait for their handler, or for the next attempt. */
  waiting: number;
  /** Dead letters. */
  dead: number;
  /** How long ago the oldest waiting event was stored, by the time of the file. */
  oldestWaitingMs?: number;
  /**
   * Why the inbox is not reachable: the name and code of the error, where it was thrown, and its
   * causes.
   */
  error?: string;
}

/** One event in an inbox, without its contents. */
export interface InboxEntry {
  id: string;
  /** Empty when the stored event is damaged: then it is a dead letter. */
  type: string;
  state: "waiting" | "done" | "dead";
  receivedAt: Date;
  attempts: number;
  /**
   * The last attempt's error, as it was logged: its message may quote a customer, and is stored
   * only with `logErrorMessages`.
   */
  lastFailure?: string;
}

/** A running worker. */
export interface SqliteWorker {
  /**
   * Leases no further events, and waits for the running handlers, at most `graceMs` milliseconds
   * (default 10 000). A handler that runs longer is aborted, and its event waits for another worker
   * without having used an attempt.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
  /** `stop()` at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SqliteInbox extends ReplayableInbox {
  /**
   * Starts a worker: runs the handler for every event in the file, also for those that other
   * processes stored. It keeps the process running until `close`; a script calls `drain` instead.
   */
  work(handler: SqliteHandler, options?: SqliteWorkerOptions): SqliteWorker;
  /**
   * Runs the handler for every event that is due, and resolves with the state of the inbox when
   * none is: for cron. After `maxMs` it takes no further event, and waits for the running handlers;
   * without it, it goes on while the file refuses writes.
   * An event that fails is tried again when its pause is over, in this call if others still run,
   * else in a later one.
   */
  drain(
    handler: SqliteHandler,
    options?: SqliteWorkerOptions & { maxMs?: number },
  ): Promise<InboxHealth>;
  /**
   * Runs a synchronous function in its own transaction, to create or read your own tables in the
   * same file. The tables of `markProcessed` and `isNewest` exist there.
   */
  write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>): Promise<Result>;
  /** Never rejects. */
  health(): Promise<InboxHealth>;
  /**
   * Lists events, oldest first.
   * @param options `limit`: default 100.
   */
  list(options?: { state?: InboxEntry["state"]; limit?: number }): Promise<InboxEntry[]>;
  /** Stops the workers, and closes the file. */
  close(options?: { graceMs?: number }): Promise<void>;
  /** `close()` at the end of the block: `await using inbox = sqliteInbox({ … })`. */
  [Symbol.asyncDispose](): Promise<void>;
}

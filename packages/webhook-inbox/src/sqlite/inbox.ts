/** `sqliteInbox`: a durable inbox in a SQLite file, for the processes of one machine. */
import { describeError, withSafeMessage } from "@loyalty-cards/internal/reporting";
import { createDatabaseClock, validateTime } from "@loyalty-cards/internal/sqlite/clock";
import {
  type OpenSqlite,
  openSqlite,
  type SqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import { createGroupCommit, requireSynchronous } from "@loyalty-cards/internal/sqlite/group-commit";
import { openFile } from "@loyalty-cards/internal/sqlite/open-file";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { toText } from "../event.ts";
import { defaultRetentionSeconds, validateNumber, validateRetention, validateSource } from "../options.ts";
import {
  createPut,
  createReport,
  type InboxHealth,
  type InspectableInbox,
  type ReportOptions,
  readHealth,
} from "../reports.ts";
import { createSchema } from "./schema.ts";
import { createStore } from "./store.ts";
import { type SqliteHandler, type SqliteWorker, startWorker, type WorkerContext } from "./worker.ts";
import { parseGrace, type SqliteWorkerOptions } from "./worker-options.ts";

/** The file, and how long events are remembered. */
export interface SqliteInboxOptions extends ReportOptions {
  /** The database file, on a local disk; created if it does not exist. It may contain tables of your own. */
  file: string;
  /**
   * The service or endpoint that sends the events. Default `""`. Events of two sources are never duplicates of each other, and each inbox
   * processes, lists and counts the events of its own source only.
   */
  source?: string;
  /** How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters are not deleted. */
  retentionSeconds?: number;
  /** Opens the file. Default: `node:sqlite` where the runtime has it, else the package `libsql`. */
  open?: OpenSqlite;
  /** Set by tests only. */
  testing?: {
    clock?: {
      /** The current time in milliseconds. Default `Date.now`. Setting it back does not delay events, pauses and leases. */
      now(): number;
    };
    /** Random numbers from 0 up to 1, for the jitter of retries. Default `Math.random`. */
    random?: () => number;
  };
}

export interface SqliteInbox extends Inbox, InspectableInbox {
  /** Starts a worker: runs the handler for every event in the file, also for those that other processes stored. */
  work(handler: SqliteHandler, options?: SqliteWorkerOptions): SqliteWorker;
  /**
   * Runs the handler for every event that is due, and resolves with the state of the inbox when none is: for cron. After `maxMs` it takes no
   * further event, and waits for the running handlers. An event that fails is tried again when its pause is over, in this call if others
   * still run, else in a later one.
   */
  drain(handler: SqliteHandler, options?: SqliteWorkerOptions & { maxMs?: number }): Promise<InboxHealth>;
  /**
   * Runs a synchronous function in its own transaction, to create or read your own tables in the same file. The tables of
   * `markProcessed` and `isNewest` exist there.
   */
  write<Result>(work: (database: SqliteDatabase) => Result): Promise<Result>;
  /** Stops the workers, writes what is queued, and closes the file. */
  close(options?: { graceMs?: number }): Promise<void>;
  /** `close()` at the end of the block: `await using inbox = sqliteInbox({ … })`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the inbox. When `put` resolves, the event is on the disk.
 * @throws {TypeError} for an option that is out of range.
 * @throws when the file cannot be used, SQLite is not available, or the tables are of a newer version.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * inbox.work(onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} }));
 * export const receive = expressReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", inbox });
 * process.once("SIGTERM", () => inbox.close());
 * ```
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const { file, source = "", retentionSeconds = defaultRetentionSeconds, open = openSqlite } = options;
  const { clock: systemClock = Date, random = Math.random } = options.testing ?? {};
  const now = () => systemClock.now();
  if (typeof file !== "string" || file === "" || file.startsWith(":memory:"))
    throw new TypeError(`sqliteInbox needs a file on a disk: { file: "inbox.db" }.`);
  validateSource(source);
  const retentionMs = validateRetention("retentionSeconds", retentionSeconds) * 1000;
  validateTime(now());
  const report = createReport(options);
  const database = openFile("sqliteInbox", file, open, createSchema(source));
  const store = createStore(database, source);
  const clock = createDatabaseClock(database, "webhook_inbox_state", now);
  const commits = createGroupCommit("inbox", database, clock.record);
  const describe = (error: unknown) => describeError(error, options);
  const context: WorkerContext = {
    ...{ source, database, store, commits, report, describe, now, clock, random, retentionMs },
  };
  const workers = new Set<ReturnType<typeof startWorker>>();
  let closed: Promise<void> | undefined;

  function requireOpen(): void {
    if (closed !== undefined) throw withSafeMessage(new Error("The inbox is closed."));
  }

  /** A later call can shorten the grace. */
  async function close(options: { graceMs?: number } = {}): Promise<void> {
    const graceMs = parseGrace(options.graceMs);
    const stopped = Promise.all([...workers].map((worker) => worker.stop({ graceMs })));
    closed ??= stopped.then(() => {
      commits.close();
      database.close();
    });
    await Promise.all([stopped, closed]);
  }

  function startWorkerOf(...args: [SqliteHandler, SqliteWorkerOptions | undefined, (() => void)?]) {
    requireOpen();
    const worker = startWorker(context, ...args);
    workers.add(worker);
    const stop = async (stopOptions?: { graceMs?: number }) => {
      await worker.stop(stopOptions);
      workers.delete(worker);
    };
    return { stop, [Symbol.asyncDispose]: () => stop() };
  }

  const health = () =>
    readHealth(options, async () => {
      requireOpen();
      const { waiting, dead, oldest } = store.counts();
      return { waiting, dead, oldestWaitingMs: oldest === null ? undefined : Math.max(0, now() - oldest) };
    });

  return {
    put: createPut(report, async ({ id, type }, { body, receivedAt }, { signal }) => {
      const text = toText(body);
      const isNew = await commits.commit(
        () => store.insert({ id, type }, text, receivedAt.getTime(), clock.nowMs()),
        { signal },
      );
      if (isNew) for (const worker of workers) worker.poll();
      return isNew ? "stored" : "duplicate";
    }),
    work: (handler, workerOptions) => startWorkerOf(handler, workerOptions),
    async drain(handler, { maxMs = maxTimerMs, ...workerOptions } = {}) {
      validateNumber("maxMs", maxMs, 0, maxTimerMs);
      let end = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const worker = startWorkerOf(handler, workerOptions, end);
      const timer = setTimeout(end, maxMs);
      await ended;
      clearTimeout(timer);
      await worker.stop({ graceMs: maxTimerMs }); // handlers end at handlerTimeoutMs
      return health();
    },
    write: (work) => commits.commit(() => requireSynchronous("write", work(database)), { isIsolated: true }),
    health,
    async list(listOptions = {}) {
      requireOpen();
      return store.list(listOptions);
    },
    async replay(eventId) {
      const isReplayed = await commits.commit(() => store.replay(eventId, clock.nowMs()));
      if (isReplayed) for (const worker of workers) worker.poll();
      return isReplayed;
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

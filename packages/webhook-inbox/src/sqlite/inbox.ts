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
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { toText } from "../event.ts";
import { defaultRetentionSeconds, validateRetention } from "../options.ts";
import {
  createPut,
  createReport,
  type InboxHealth,
  type InspectableInbox,
  type ReportOptions,
} from "../reports.ts";
import { schema } from "./schema.ts";
import { createStore } from "./store.ts";
import { type SqliteHandler, type SqliteWorker, startWorker } from "./worker.ts";
import type { SqliteWorkerOptions } from "./worker-options.ts";

/** The file, and how long events are remembered. */
export interface SqliteInboxOptions extends ReportOptions {
  /** The database file, on a local disk; created if it does not exist. It may contain tables of your own. */
  file: string;
  /** How long processed events are remembered. Default 14 days, at least 8 h 37 min. Dead letters are not deleted. */
  retentionSeconds?: number;
  /** Opens the file. Default: `node:sqlite` where the runtime has it, else the package `libsql`. */
  open?: OpenSqlite;
  /** The current time in milliseconds. Default `Date.now`. Events, pauses and leases do not wait for it when it is set back. */
  now?: () => number;
  /** From 0 up to 1, for the jitter of retries. Default `Math.random`. */
  random?: () => number;
}

export interface SqliteInbox extends Inbox, InspectableInbox {
  /** Starts a worker: runs the handler for every event in the file, also for those that other processes stored. */
  work(handler: SqliteHandler, options?: SqliteWorkerOptions): SqliteWorker;
  /**
   * Runs a synchronous function in a transaction of its own: to create or read tables of your own in the same file.
   * The tables of `markProcessed` and `isNewest` are there.
   */
  write<Result>(work: (database: SqliteDatabase) => Result): Promise<Result>;
  /** Stops the workers, writes what is queued, and closes the file. */
  close(options?: { graceMs?: number }): Promise<void>;
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
  const { file, retentionSeconds = defaultRetentionSeconds, now = Date.now, random = Math.random } = options;
  if (typeof file !== "string" || file === "" || file.startsWith(":memory:"))
    throw new TypeError(`sqliteInbox needs a file on a disk: { file: "inbox.db" }.`);
  const retentionMs = validateRetention("retentionSeconds", retentionSeconds) * 1000;
  validateTime(now());
  const report = createReport(options);
  const database = openFile("sqliteInbox", file, options.open ?? openSqlite, schema);
  const store = createStore(database);
  const clock = createDatabaseClock(database, "webhook_inbox_state", now);
  const commits = createGroupCommit("inbox", database, clock.record);
  const workers = new Set<ReturnType<typeof startWorker>>();
  let closed: Promise<void> | undefined;

  function requireOpen(): void {
    if (closed !== undefined) throw withSafeMessage(new Error("The inbox is closed."));
  }

  async function close(graceMs: number | undefined): Promise<void> {
    const grace = graceMs === undefined ? {} : { graceMs };
    await Promise.all([...workers].map((worker) => worker.stop(grace)));
    commits.close();
    database.close();
  }

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
    work(handler, workerOptions) {
      requireOpen();
      const describe = (error: unknown) => describeError(error, options);
      const context = { database, store, commits, report, describe, now, clock, random, retentionMs };
      const worker = startWorker(context, handler, workerOptions);
      workers.add(worker);
      return {
        async stop(stopOptions) {
          await worker.stop(stopOptions);
          workers.delete(worker);
        },
      };
    },
    write: (work) => commits.commit(() => requireSynchronous("write", work(database)), { isIsolated: true }),
    async health(): Promise<InboxHealth> {
      try {
        requireOpen();
        const { waiting, dead, oldest } = store.counts();
        const oldestWaitingMs = oldest === null ? {} : { oldestWaitingMs: Math.max(0, now() - oldest) };
        return { isReachable: true, waiting, dead, ...oldestWaitingMs };
      } catch (error) {
        return { isReachable: false, waiting: 0, dead: 0, error: describeError(error, options) };
      }
    },
    async list(listOptions = {}) {
      requireOpen();
      return store.list(listOptions);
    },
    async replay(eventId) {
      const isReplayed = await commits.commit(() => store.replay(eventId, clock.nowMs()));
      if (isReplayed) for (const worker of workers) worker.poll();
      return isReplayed;
    },
    close({ graceMs } = {}) {
      closed ??= close(graceMs);
      return closed;
    },
  };
}

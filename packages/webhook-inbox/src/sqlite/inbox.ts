/** The inbox of one machine: a SQLite file that holds every event from before its 204 until it is done. */
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { textOf } from "../body-text.ts";
import { placeOf } from "../failure.ts";
import type { InboxHealth, InspectableInbox } from "../health.ts";
import { type ReportOptions, reporter } from "../outcome.ts";
import { reportingPut } from "../put-reporting.ts";
import { checkedRetention, defaultRetentionSeconds } from "../retention.ts";
import type { SqliteHandler } from "./attempt.ts";
import { checkedTime, inboxClock } from "./clock.ts";
import type { OpenSqlite, OpenSqliteDatabase, SqliteDatabase } from "./database.ts";
import { groupCommit, synchronous } from "./group-commit.ts";
import { absolutePath, openSqlite } from "./open-node.ts";
import { prepare } from "./schema.ts";
import { createStore } from "./store.ts";
import { type SqliteWorker, startWorker } from "./worker.ts";
import type { SqliteWorkerOptions } from "./worker-options.ts";

/** Which file, and how long events are remembered. */
export interface SqliteInboxOptions extends ReportOptions {
  /** The database file, on a disk of this machine; it is made when it is missing. It may hold tables of yours too. */
  file: string;
  /** How long handled events are remembered. Default 14 days, at least 8 h 37 min. Dead letters stay. */
  retentionSeconds?: number;
  /** Opens the file. Default: `node:sqlite` where the runtime has it, else the package `libsql`. */
  open?: OpenSqlite;
  /** The current time in milliseconds. Default `Date.now`. Events, pauses and leases do not wait for it when it is set back. */
  now?: () => number;
  /** From 0 up to 1, for the pauses between attempts. Default `Math.random`. */
  random?: () => number;
}

export interface SqliteInbox extends Inbox, InspectableInbox {
  /** Runs the handler for every event, in this process. Events of other processes on the same file are taken too. */
  work(handler: SqliteHandler, options?: SqliteWorkerOptions): SqliteWorker;
  /**
   * Runs a synchronous function in a transaction of its own: to make tables of yours in the same file, or to read them.
   * `markProcessed` and `isNewest` find theirs there.
   */
  write<Result>(work: (database: SqliteDatabase) => Result): Promise<Result>;
  /** Stops the workers, writes what waits, and closes the file. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Opens the inbox. What `put` resolves for is on the disk.
 * @throws {TypeError} for an option that makes no sense.
 * @throws when the file cannot be used, there is no SQLite, or its tables are of a newer version.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * inbox.work(onEvents({ "balance.changed": ({ data }) => console.log(data.balance), other: () => {} }));
 * export const receive = expressReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", inbox });
 * process.once("SIGTERM", () => inbox.close());
 * ```
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const { file, retentionSeconds = defaultRetentionSeconds, now = Date.now, random = Math.random } = options;
  if (typeof file !== "string" || file === "" || file.startsWith(":memory:"))
    throw new TypeError(`sqliteInbox needs a file that outlives the process: { file: "inbox.db" }.`);
  const retentionMs = checkedRetention("retentionSeconds", retentionSeconds) * 1000;
  checkedTime(now());
  const report = reporter(options);
  const database = opened(file, options.open ?? openSqlite);
  const store = createStore(database);
  const clock = inboxClock(database, now);
  const commits = groupCommit(database, clock.record);
  const workers = new Set<ReturnType<typeof startWorker>>();
  let closed: Promise<void> | undefined;

  function stillOpen(): void {
    if (closed !== undefined) throw new Error("The inbox is closed.");
  }

  async function close(graceMs: number | undefined): Promise<void> {
    const grace = graceMs === undefined ? {} : { graceMs };
    await Promise.all([...workers].map((worker) => worker.stop(grace)));
    commits.close();
    database.close();
  }

  return {
    put: reportingPut(report, async ({ id, type }, { body, receivedAt }, { signal }) => {
      const text = textOf(body);
      const isNew = await commits.commit(
        () => store.insert({ id, type }, text, receivedAt.getTime(), clock.nowMs()),
        { signal },
      );
      if (isNew) for (const worker of workers) worker.wake();
      return isNew ? "stored" : "duplicate";
    }),
    work(handler, workerOptions) {
      stillOpen();
      const surroundings = { database, store, commits, report, now, clock, random, retentionMs };
      const worker = startWorker(surroundings, handler, workerOptions);
      workers.add(worker);
      return {
        async stop(stopOptions) {
          await worker.stop(stopOptions);
          workers.delete(worker);
        },
      };
    },
    write: (work) => commits.commit(() => synchronous(work(database)), { isIsolated: true }),
    async health(): Promise<InboxHealth> {
      try {
        stillOpen();
        const { waiting, dead, oldest } = store.counts();
        const oldestWaitingMs = oldest === null ? {} : { oldestWaitingMs: Math.max(0, now() - oldest) };
        return { isReachable: true, waiting, dead, ...oldestWaitingMs };
      } catch (error) {
        return { isReachable: false, waiting: 0, dead: 0, fault: placeOf(error) };
      }
    },
    async list(listOptions = {}) {
      stillOpen();
      return store.list(listOptions);
    },
    async replay(eventId) {
      const isReplayed = await commits.commit(() => store.replay(eventId, clock.nowMs()));
      if (isReplayed) for (const worker of workers) worker.wake();
      return isReplayed;
    },
    close({ graceMs } = {}) {
      closed ??= close(graceMs);
      return closed;
    },
  };
}

function opened(file: string, open: OpenSqlite): OpenSqliteDatabase {
  let database: OpenSqliteDatabase | undefined;
  try {
    database = open(absolutePath(file));
    prepare(database);
    return database;
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`sqliteInbox cannot use the file "${file}": ${reason}`, { cause });
  }
}

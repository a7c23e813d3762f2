/** `sqliteInbox`: a durable inbox in a SQLite file, for the processes of one machine. */
import { createJobs, formatTables, idTypes, type Job, type NewJob } from "@loyalty-cards/internal/jobs/jobs";
import {
  createSqliteDatabase,
  requireSynchronous,
  type Synchronous,
} from "@loyalty-cards/internal/jobs/sqlite";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import type { Worker, WorkLimits } from "@loyalty-cards/internal/jobs/worker";
import { maxTimerMs, parseGrace, requireNumber } from "@loyalty-cards/internal/limits";
import { describeError } from "@loyalty-cards/internal/reporting";
import {
  type OpenSqlite,
  openDurableFile,
  openSqlite,
  type SqliteDatabase,
} from "@loyalty-cards/internal/sqlite/database-node";
import { parseStoredEvent, toJobData, validateRetention } from "../event.ts";
import { createPut, type ReplayableInbox } from "../put.ts";
import { createReport, type ReportOptions } from "../reports.ts";
import { ensureInboxTables } from "./processed.ts";
import { type SqliteHandler, type SqliteWorkerOptions, startEventWorker } from "./worker.ts";

/** The file, and how long events are remembered. */
export interface SqliteInboxOptions extends ReportOptions {
  /**
   * The database file, on a local disk. It is opened at first use, and created for its owner only if it does not exist. It may contain
   * tables of your own. Hold no transaction on it across an `await`: storing an event waits for it, at most 5 seconds.
   */
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
  testing?: { clock?: { now(): number }; random?: () => number };
}

/** The state of an inbox. The caller decides how many events may wait, and for how long. */
export interface InboxHealth {
  /** Whether the file can be used. */
  isReachable: boolean;
  /** Events that wait for their handler, or for the next attempt. */
  waiting: number;
  /** Dead letters. */
  dead: number;
  /** How long the oldest waiting event has waited, in milliseconds. */
  oldestWaitingMs?: number;
  /** Why the inbox is not reachable: the name and code of the error, where it was thrown, and its causes. */
  error?: string;
}

/** One event in an inbox, without its contents. */
export interface InboxEntry {
  id: string;
  type: string;
  state: "waiting" | "done" | "dead";
  receivedAt: Date;
  attempts: number;
  /** The last attempt's error, as it was logged: its message may quote a customer, and is stored only with `logErrorMessages`. */
  lastFailure?: string;
}

/** A running worker. */
export interface SqliteWorker {
  /**
   * Leases no further events and waits for the running handlers, `graceMs` at most (default 10 000). A handler that runs
   * longer is aborted, and its event waits for another worker without having used an attempt.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
  /** `stop()` at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SqliteInbox extends ReplayableInbox {
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
  write<Result>(work: (database: SqliteDatabase) => Synchronous<Result>): Promise<Result>;
  /** Never rejects. */
  health(): Promise<InboxHealth>;
  /** Lists events, oldest first. @param options `limit`: default 100. */
  list(options?: { state?: InboxEntry["state"]; limit?: number }): Promise<InboxEntry[]>;
  /** Stops the workers, and closes the file. */
  close(options?: { graceMs?: number }): Promise<void>;
  /** `close()` at the end of the block: `await using inbox = sqliteInbox({ … })`. */
  [Symbol.asyncDispose](): Promise<void>;
}

const table = "webhook_inbox_events";
const jobs = createJobs(table);
const version = 1;
/** Each event is a job: its source is the topic, its id the name. The index is for the counts and the retention. */
const tables = `${formatTables(table, idTypes.sqlite)}
CREATE INDEX IF NOT EXISTS ${table}_ended ON ${table} (topic, state, ended);`;

/**
 * The version first, so that tables of a newer one are not changed. Where nothing is missing it only reads, because another connection of
 * this process may be in a transaction.
 */
function prepareTables(database: SqliteDatabase): void {
  database.exec("CREATE TABLE IF NOT EXISTS webhook_inbox_schema (version integer NOT NULL)");
  const row = database.prepare("SELECT max(version) AS version FROM webhook_inbox_schema").get();
  const stored = (row as { version: number | bigint | null }).version;
  if (stored === null) database.exec(`INSERT INTO webhook_inbox_schema VALUES (${version})`);
  if (Number(stored) > version)
    throw new Error(
      `its tables are of version ${stored} and this package knows ${version}: update @loyalty-cards/webhook-inbox`,
    );
  database.exec(tables);
  ensureInboxTables(database);
}

/**
 * Creates an inbox, whose file is opened at first use. When `put` resolves, the event is on the disk.
 * @throws {TypeError} for an option that is out of range.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * inbox.work(onEvents({ "balance.changed": ({ data }) => console.log(data.balance), otherTypes: () => {} }));
 * export const receive = expressReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET, inbox });
 * process.once("SIGTERM", () => inbox.close());
 * ```
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const { file, source = "", open = openSqlite } = options;
  const { clock = Date, random = Math.random } = options.testing ?? {};
  const now = () => clock.now();
  if (typeof file !== "string" || file === "" || file.startsWith(":memory:"))
    throw new TypeError(`sqliteInbox needs a file on a disk: { file: "inbox.db" }.`);
  const retentionMs = validateRetention(options.retentionSeconds) * 1000;
  const report = createReport(options);
  const describe = (error: unknown) => describeError(error, options);
  const database = createSqliteDatabase(
    () => openDurableFile("sqliteInbox", file, open, prepareTables),
    now,
    "inbox",
    jobs.getLatest,
  );
  const context = { source, jobs, database, report, describe, now, random, retentionMs };
  const workers = new Set<Worker>();
  const transact = <Result>(operation: Operation<Result>) =>
    database.transact((connection) => database.runIn(connection, operation));

  function start(handler: SqliteHandler, workerOptions?: SqliteWorkerOptions, limits?: WorkLimits): Worker {
    database.open();
    const worker = startEventWorker(context, handler, workerOptions, limits);
    workers.add(worker);
    worker.ended.then(() => workers.delete(worker));
    return worker;
  }

  function wakeWorkers(): void {
    for (const worker of workers) worker.wake();
  }

  async function close(closeOptions?: { graceMs?: number }): Promise<void> {
    const graceMs = parseGrace(closeOptions?.graceMs);
    while (workers.size > 0) await Promise.all([...workers].map((worker) => worker.stop(graceMs)));
    database.close();
  }

  async function health(): Promise<InboxHealth> {
    try {
      const { states, oldestWaitingAtMs: oldestMs } = database.run(jobs.count(source));
      const oldest = oldestMs === undefined ? {} : { oldestWaitingMs: Math.max(0, now() - oldestMs) };
      return { isReachable: true, waiting: states["waiting"] ?? 0, dead: states["dead"] ?? 0, ...oldest };
    } catch (error) {
      return { isReachable: false, waiting: 0, dead: 0, error: describe(error) };
    }
  }

  return {
    put: createPut(report, async ({ id }, { body, receivedAt }) => {
      const data = JSON.stringify(toJobData(body, receivedAt, source));
      const outcome = transact(store({ topic: source, name: id, key: "", body: data }));
      if (outcome === "stored") wakeWorkers();
      return outcome;
    }),
    work(handler, workerOptions) {
      const worker = start(handler, workerOptions);
      const stop = async (stopOptions?: { graceMs?: number }) =>
        worker.stop(parseGrace(stopOptions?.graceMs));
      return { stop, [Symbol.asyncDispose]: () => stop() };
    },
    async drain(handler, { maxMs = maxTimerMs, ...workerOptions } = {}) {
      requireNumber("maxMs", maxMs, 0, maxTimerMs);
      const limits = { maxIdleMs: 0, endsAtMs: performance.now() + maxMs };
      await start(handler, workerOptions, limits).ended;
      return health();
    },
    async write<Result>(work: (own: SqliteDatabase) => Synchronous<Result>) {
      return database.transact((own) => requireSynchronous<Result>("write", work(own)));
    },
    health,
    async list({ state, limit = 100 } = {}) {
      return database.run(jobs.list(state, 0, limit, source)).map(toEntry);
    },
    async replay(eventId) {
      const isReplayed = transact(replay(source, eventId));
      if (isReplayed) wakeWorkers();
      return isReplayed;
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** Stores an event. A dead letter is stored anew, after all others. */
function* store(job: NewJob): Operation<"stored" | "duplicate"> {
  const known = yield* jobs.add(job, 0);
  if (known === undefined) return "stored";
  if (known.state !== "dead") return "duplicate";
  yield* jobs.delete(known.id);
  yield* jobs.add(job, 0);
  return "stored";
}

function* replay(source: string, eventId: string): Operation<boolean> {
  const [job] = yield* jobs.findByName(eventId, source, true);
  if (job?.state !== "dead" || job.body === undefined) return false;
  return (yield* store({ topic: source, name: eventId, key: "", body: job.body })) === "stored";
}

function toEntry({ body, name, state, attempts, error }: Job): InboxEntry {
  const { event, receivedAt } = parseStoredEvent(body);
  const entry = { id: name, type: event.type, state: state as InboxEntry["state"], receivedAt, attempts };
  return error === undefined ? entry : { ...entry, lastFailure: String(error) };
}

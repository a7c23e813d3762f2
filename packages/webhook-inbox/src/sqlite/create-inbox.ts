/** `sqliteInbox`: a durable inbox in a SQLite file, for the processes of one machine. */
import { createTypeError, withSafeMessage } from "@loyalty-cards/internal/errors";
import { countWithoutWorker, createWorkerWatch } from "@loyalty-cards/internal/jobs/missing-worker";
import { countJobs, getLatestMs, listJobs } from "@loyalty-cards/internal/jobs/read";
import { createSqliteDatabase } from "@loyalty-cards/internal/jobs/sqlite";
import type { Job } from "@loyalty-cards/internal/jobs/tables";
import type { Worker, WorkLimits } from "@loyalty-cards/internal/jobs/worker";
import { requireKnownNames } from "@loyalty-cards/internal/known-options";
import {
  maxTimerMs,
  parseGrace,
  requireInteger,
  requireNumber,
} from "@loyalty-cards/internal/limits";
import { createLog, describeError, warningIntervalMs } from "@loyalty-cards/internal/reporting";
import {
  openDurableFile,
  openSqlite,
  requireFileOptions,
} from "@loyalty-cards/internal/sqlite/database-node";
import { type Clock, startBackgroundTimer } from "@loyalty-cards/internal/timers";
import { createInboxReport } from "../outcomes.ts";
import { createPut, requireEventId } from "../replayable-inbox.ts";
import {
  formatStoredEvent,
  parseRetentionSeconds,
  parseStoredEvent,
  requireSource,
} from "../stored-event.ts";
import {
  drainOptionNames,
  type InboxEntry,
  type InboxHealth,
  inboxOptionNames,
  listOptionNames,
  type SqliteInbox,
  type SqliteInboxOptions,
  states,
  testingNames,
} from "./inbox.ts";
import { digest, prepareTables, replay, store, tables } from "./store-node.ts";
import {
  createSweep,
  type InboxContext,
  type SqliteHandler,
  type SqliteWorkerOptions,
  startEventWorker,
} from "./worker.ts";

/**
 * Creates an inbox, whose file is opened at first use. When `put` resolves, the event is on the
 * disk.
 * @throws {TypeError} for an option that is out of range.
 * @example
 * ```ts
 * import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
 *
 * const inbox = sqliteInbox({ file: "inbox.db" });
 * const handler = onEvents({
 *   "balance.changed": ({ data }) => console.log(data.balance),
 *   otherTypes: () => {},
 * });
 * inbox.work(handler);
 * const secret = () => process.env.LOYALTY_SIGNING_SECRET;
 * export const receive = expressReceiver({ secret, inbox });
 * process.once("SIGTERM", () => inbox.close());
 * ```
 */
export function sqliteInbox(options: SqliteInboxOptions): SqliteInbox {
  const context = createContext(options);
  const { source, database, report, clock } = context;
  /** The running workers, with the handler of each. */
  const workers = new Map<Worker, SqliteHandler>();
  let isClosing = false;
  const workerWatch = createWorkerWatch({
    workers,
    count: async () => database.runEach(countWithoutWorker(tables, source)),
    log: (waiting) =>
      context.log(
        `${waiting} events wait, and nobody processes them: call inbox.work(handler) in a process that runs, or inbox.drain(handler) from cron.`,
      ),
    onUnavailable: (error) => report({ outcome: "unavailable", error }),
    clock,
  });
  const warnOfOtherContent = createOtherContentWarning(context);

  function start(
    handler: SqliteHandler,
    workerOptions?: SqliteWorkerOptions,
    limits?: WorkLimits,
  ): Worker {
    if (isClosing) throw withSafeMessage(new Error("The inbox is closed."));
    for (const other of workers.values()) if (other !== handler) throw createTypeError(oneHandler);
    const worker = startEventWorker(context, handler, workerOptions, limits);
    workers.set(worker, handler);
    worker.ended.then(() => workers.delete(worker));
    return worker;
  }

  function wakeWorkers(): void {
    for (const worker of workers.keys()) worker.wake();
  }

  async function close(closeOptions?: { graceMs?: number }): Promise<void> {
    const graceMs = parseGrace(closeOptions?.graceMs);
    isClosing = true;
    workerWatch.stop();
    await Promise.all([...workers.keys()].map((worker) => worker.stop(graceMs)));
    database.close();
  }

  return {
    put: createPut(report, async ({ id }, { body, receivedAt }) => {
      const text = formatStoredEvent(body, receivedAt);
      const job = { topic: source, name: id, key: digest(body), body: text };
      const outcome = database.transact(store(job));
      if (outcome === "stored") wakeWorkers();
      if (outcome === "other-content") warnOfOtherContent();
      await workerWatch.look();
      return outcome === "stored" ? "stored" : "duplicate";
    }),
    work(handler, workerOptions) {
      const worker = start(handler, workerOptions);
      const stop = async (stopOptions?: { graceMs?: number }) =>
        worker.stop(parseGrace(stopOptions?.graceMs));
      return { stop, [Symbol.asyncDispose]: () => stop() };
    },
    async drain(handler, options = {}) {
      requireKnownNames("drain", options, drainOptionNames);
      const { maxMs = maxTimerMs, ...workerOptions } = options;
      requireNumber("maxMs", maxMs, 0, maxTimerMs);
      const limits = { maxIdleMs: 0, endsAtMs: clock.monotonicMs() + maxMs };
      await start(handler, workerOptions, limits).ended;
      return readHealth(context);
    },
    async write(work) {
      return database.write("inbox.write", work);
    },
    health: () => readHealth(context),
    async list(options = {}) {
      requireKnownNames("list", options, listOptionNames);
      const { state, limit = 100 } = options;
      requireInteger("limit", limit, 0, Number.MAX_SAFE_INTEGER);
      if (state !== undefined && !states.includes(state))
        throw createTypeError('state must be "waiting", "done" or "dead".');
      return database.runEach(listJobs(tables, { state, topic: source }, { limit })).map(toEntry);
    },
    async replay(eventId) {
      requireEventId(eventId);
      const isReplayed = database.transact(replay(source, eventId));
      if (isReplayed) wakeWorkers();
      return isReplayed;
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

const oneHandler =
  "This inbox has a worker with another handler, and each event goes to one of them only: combine the handlers in one onEvents({ … }), or stop the first worker.";

/** @returns a function that logs, at most every ten minutes, that two services share an inbox. */
function createOtherContentWarning({ log, clock }: InboxContext) {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  return (): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs - warnedAtMs < warningIntervalMs) return;
    warnedAtMs = nowMs;
    log(
      "an event has the id of another one and other content, so it counts as its duplicate: give the inbox of each service its own source.",
    );
  };
}

/** No delay exceeds `maxTimerMs`: options are checked, and a worker waits `pollMs` at most. */
const systemClock: Clock = {
  now: () => Date.now(), // fake timers replace Date
  monotonicMs: () => performance.now(),
  after(ms, wake, isBackground) {
    if (isBackground) return startBackgroundTimer(ms, wake);
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  },
};

/** @throws {TypeError} for an option that is out of range. */
function createContext(options: SqliteInboxOptions): InboxContext {
  requireKnownNames("sqliteInbox", options, inboxOptionNames);
  const { file, source = "", open = openSqlite, testing = {} } = options;
  requireSource(source);
  requireKnownNames("testing of sqliteInbox", testing, testingNames);
  const { random = Math.random } = testing;
  const clock = { ...systemClock, ...testing.clock };
  requireFileOptions("sqliteInbox", file, open);
  const retentionMs = parseRetentionSeconds(options.retentionSeconds) * 1000;
  const database = createSqliteDatabase({
    openFile: () => openDurableFile({ caller: "sqliteInbox", file, open, prepare: prepareTables }),
    now: clock.now,
    owner: "inbox",
    getLatestMs: () => getLatestMs(tables),
  });
  const describe = (error: unknown) => describeError(error, options);
  return {
    source,
    database,
    report: createInboxReport(options),
    log: createLog("webhook-inbox", options.log),
    describe,
    clock,
    random,
    sweep: createSweep(database, source, retentionMs),
  };
}

async function readHealth({ database, source, describe }: InboxContext): Promise<InboxHealth> {
  try {
    const { states, oldestWaitingMs } = database.runEach(countJobs(tables, source));
    const health = {
      isReachable: true,
      waiting: states["waiting"] ?? 0,
      dead: states["dead"] ?? 0,
    };
    return oldestWaitingMs === undefined ? health : { ...health, oldestWaitingMs };
  } catch (error) {
    return { isReachable: false, waiting: 0, dead: 0, error: describe(error) };
  }
}

function toEntry({ body, name, state, attempts, error, addedAtMs }: Job): InboxEntry {
  const stored = parseStoredEvent(body);
  const entry = {
    id: name,
    type: stored?.event.type ?? "",
    state: state as InboxEntry["state"],
    receivedAt: stored?.receivedAt ?? new Date(addedAtMs),
    attempts,
  };
  return error === undefined ? entry : { ...entry, lastFailure: String(error) };
}

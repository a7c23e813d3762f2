/** Puts an outbox together: its methods, on any database. */
import { countWithoutWorker, createWorkerWatch } from "@loyalty-cards/internal/jobs/missing-worker";
import type { JobTables } from "@loyalty-cards/internal/jobs/tables";
import { endWithin, type Worker } from "@loyalty-cards/internal/jobs/worker";
import { parseGrace } from "@loyalty-cards/internal/limits";
import { createLog } from "@loyalty-cards/internal/reporting";
import { addAll } from "./add.ts";
import { forget, resolve, retry } from "./changes.ts";
import { createLifecycle, type OutboxContext, type OutboxDatabase } from "./context.ts";
import { issue } from "./issue.ts";
import { findJob, parseMethodRef, requireOpen, toEntry } from "./job.ts";
import { countEntries, list } from "./list.ts";
import type { Outbox, OutboxSettings } from "./outbox.ts";
import { createFailureLog, createOutboxReport } from "./outcomes.ts";
import { createWorkers, drain, work } from "./work.ts";

/**
 * @param database opens at first use: after that, `requireOwnSettings` has run.
 * @returns the methods that do not depend on the database, and what the others need.
 */
export function createOutbox(
  settings: OutboxSettings,
  tables: JobTables,
  database: OutboxDatabase,
) {
  const { client, random, retentionMs, callbacks } = settings;
  const lifecycle = createLifecycle();
  const activeWorkers = new Set<Worker>();
  const log = createLog("issuing-outbox", settings.log);
  const hasWorker = () => activeWorkers.size > 0;
  const report = createOutboxReport(settings, hasWorker);
  const { clock } = client;
  const workerWatch = createWorkerWatch({
    workers: activeWorkers,
    count: () => database.runEach(() => countWithoutWorker(tables)),
    log: (waiting) =>
      log(
        `${waiting} entries wait, and nobody issues their cards: call outbox.work() in a process that runs, or outbox.drain() from cron.`,
      ),
    onUnavailable: (error) => report({ outcome: "unavailable", error }),
    clock,
  });
  lifecycle.listeners.closing.add(workerWatch.stop);
  const context: OutboxContext = {
    database,
    tables,
    client,
    report,
    logFailure: createFailureLog(log, clock, hasWorker),
    workerWatch,
    random,
    retentionMs,
    callbacks,
    running: new Map(),
    activeWorkers,
    lifecycle,
  };
  const workers = createWorkers(context);
  const visits = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;

  async function close(graceMs: number): Promise<void> {
    lifecycle.enter("closing");
    const end = async () => {
      await workers.stop(graceMs);
      await Promise.allSettled(visits);
      await Promise.all(context.running.values());
    };
    await endWithin(clock, end(), graceMs, lifecycle.abort);
    database.close();
  }

  const outbox: Outbox = {
    addAll: (entries) => addAll(context, entries),
    async issue(userId, issueOptions) {
      const visit = issue(context, userId, issueOptions);
      visits.add(visit);
      try {
        return await visit;
      } finally {
        visits.delete(visit);
      }
    },
    work: (workOptions) => work(workers, workOptions),
    drain: (drainOptions) => drain(context, workers, drainOptions),
    resolve: (userId, resolution, template) => resolve(context, userId, resolution, template),
    retry: (userId, template) => retry(context, userId, template),
    forget: (userId, template) => forget(context, userId, template),
    async get(userId, template) {
      const jobRef = parseMethodRef(context, "get", { userId, options: template });
      const job = await database.runEach(() => findJob(tables, jobRef));
      return job && toEntry(job);
    },
    list: (listOptions) => list(context, listOptions),
    async count() {
      requireOpen(context);
      return database.runEach(() => countEntries(context));
    },
    close(closeOptions) {
      const graceMs = parseGrace(closeOptions?.graceMs);
      closed ??= close(graceMs);
      return closed;
    },
    [Symbol.asyncDispose]: () => outbox.close(),
  };

  return { outbox, context };
}

export const writeNeedsFunction =
  "outbox.write takes one function, which gets the transaction: outbox.write((transaction) => { …save the user… outbox.add(transaction, entry); }).";

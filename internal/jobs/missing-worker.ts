/** Notices that jobs wait and nobody leases them: no worker seems to run. */
import { warningIntervalMs } from "../reporting.ts";
import type { Clock } from "../timers.ts";
import { countJobs, queuesSql } from "./read.ts";
import { query, type Statements, toNumber, toOptionalNumber } from "./statement.ts";
import { equalsSql, type JobTables, ranks } from "./tables.ts";
import { runInNoRequest } from "./worker.ts";

/** How long something may be due while a worker runs, or a drain each hour. */
const maxDueMs = 65 * 60_000;
/** The same before the first lease: perhaps the program never starts a worker. */
const maxFirstDueMs = 60_000;

/** What is due, and whether somebody leases. Times are in milliseconds; undefined without jobs. */
interface DueJobs {
  hasLeased: boolean;
  dueForMs: number | undefined;
  /** The same without bulk, which waits for everything else. */
  promptDueForMs: number | undefined;
}

/** Whether something has been due for so long that nobody seems to lease. */
export function isWithoutWorker({ hasLeased, dueForMs = 0, promptDueForMs = 0 }: DueJobs): boolean {
  return hasLeased ? promptDueForMs >= maxDueMs : dueForMs >= maxFirstDueMs;
}

/**
 * Finds out whether somebody leases what is due. What waits for an open breaker is not due.
 * @param topic default: all.
 * @returns how many jobs wait while nobody leases; 0 when somebody does.
 */
export function* countWithoutWorker(tables: JobTables, topic?: string): Statements<number> {
  const { jobs, breakers } = tables;
  const isOfTopic = equalsSql("topic", topic);
  // Somebody leases when a job has ended, or waits with a rank before that of new jobs: an attempt
  // changes either. A job that is added with an earlier attempt looks like that too, and is noticed
  // later. `state <> 'waiting'` would use no index, so it is asked as < and >.
  const [row] = yield* query(
    `${queuesSql(tables)}
     SELECT
       :now - min(due) AS due,
       :now - min(CASE WHEN rank < ${ranks.bulk} THEN due END) AS prompt,
       CASE
         WHEN EXISTS (SELECT 1 FROM ${jobs} WHERE ${isOfTopic} AND state < 'waiting') THEN 1
         WHEN EXISTS (SELECT 1 FROM ${jobs} WHERE ${isOfTopic} AND state > 'waiting') THEN 1
         WHEN EXISTS (SELECT 1 FROM queues WHERE rank < ${ranks.new} AND due IS NOT NULL) THEN 1
         ELSE 0
       END AS leased
     FROM (
       SELECT rank, due FROM queues
       UNION ALL
       SELECT ${ranks.started}, due FROM ${breakers} WHERE due IS NOT NULL
     ) AS pending`,
    { topic: topic ?? null },
  );
  const dueJobs = {
    hasLeased: toNumber(row?.["leased"]) === 1,
    dueForMs: toOptionalNumber(row?.["due"]),
    promptDueForMs: toOptionalNumber(row?.["prompt"]),
  };
  if (!isWithoutWorker(dueJobs)) return 0;
  return (yield* countJobs(tables, topic)).states["waiting"] ?? 0;
}

/** How often to look whether somebody leases. */
const lookIntervalMs = 10_000;
/** What is added is due for a minute then, also when a caller who waits has it first. */
const laterMs = maxFirstDueMs + 5_000;

/** Logs that jobs wait and nobody leases them. */
export interface WorkerWatch {
  /** Looks at once, at most every ten seconds, and also later. Never rejects. */
  look(): Promise<void>;
  /** Looks when what was added until now is due for a minute, also when nothing is called then. */
  lookLater(): void;
  /** Looks no more. */
  stop(): void;
}

interface WatchContext {
  /** Those of this process: while one runs, none is missing. */
  workers: { readonly size: number };
  /** Returns what `countWithoutWorker` does. */
  count(): Promise<number>;
  log(waiting: number): void;
  onUnavailable(error: unknown): void;
  clock: Clock;
}

export function createWorkerWatch(context: WatchContext): WorkerWatch {
  const { workers, clock } = context;
  let nextLookAtMs = Number.NEGATIVE_INFINITY;
  let nextWarningAtMs = Number.NEGATIVE_INFINITY;
  let cancelTimer: (() => void) | undefined;

  async function warn(): Promise<void> {
    if (workers.size > 0 || clock.monotonicMs() < nextWarningAtMs) return;
    const waiting = await context.count();
    if (waiting === 0) return;
    nextWarningAtMs = clock.monotonicMs() + warningIntervalMs;
    context.log(waiting);
  }

  function lookLater(): void {
    if (workers.size > 0) return;
    const lookAgain = () => {
      cancelTimer = undefined;
      warn().catch(() => {}); // the next call reports it
    };
    cancelTimer ??= runInNoRequest(() => clock.after(laterMs, lookAgain, true));
  }

  return {
    async look() {
      lookLater();
      const nowMs = clock.monotonicMs();
      if (workers.size > 0 || nowMs < nextLookAtMs) return;
      nextLookAtMs = nowMs + lookIntervalMs;
      // An error of this check must not fail the caller.
      await warn().catch(context.onUnavailable);
    },
    lookLater,
    stop: () => cancelTimer?.(),
  };
}

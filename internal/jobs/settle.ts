/** Ends an attempt: records how it ended, or gives the job back unsent. */
import { closeBreaker, recordFailure, type TopicFailure, withdrawProbe } from "./breaker.ts";
import { unlessCallback } from "./lease.ts";
import { execute, query, type Statements, toNumber } from "./statement.ts";
import {
  countFailures,
  type Job,
  type JobTables,
  type LeasedJob,
  ranks,
  readJob,
} from "./tables.ts";

/** What may come of an attempt that ended. */
type Effect =
  /** Nothing: then it does not count as the first attempt. */
  | "none"
  /** Perhaps something: it got no response, or one such as a 500. */
  | "possible"
  /** Nothing new: what was known of earlier attempts stays. */
  | "unchanged";

/** How an attempt ended. */
export interface End {
  state: string;
  effect: Effect;
  /** What is due next; undefined when nothing is. */
  rank?: number | undefined;
  /** Until it is due. Default 0. */
  delayMs?: number;
  /** What the package stores from now on, as JSON. Default: nothing. */
  result?: unknown;
  error?: unknown;
  isErased?: boolean;
  /**
   * What the end says of the topic: `works` closes its breaker, a failure counts. Default: nothing.
   */
  finding?: "works" | TopicFailure | undefined;
}

export interface Settled {
  /** undefined when the lease is no longer that of this attempt. */
  job: Job | undefined;
  /** What the breaker of the topic does, if it does something. */
  breaker?: "counts" | "opens" | "stays-open" | "closes";
}

/**
 * Records how an attempt ended, and what it says of its topic. A failure is counted first, because
 * the delay of the job depends on whether the breaker is open. A success is recorded first: that
 * statement returns how many jobs of the topic have failed, and if there are any, the breaker is
 * closed.
 */
export function settleJob(tables: JobTables, job: Job, end: End): Statements<Settled> {
  const { finding } = end;
  if (finding === "works") return settleWorking(tables, job, end);
  if (finding === undefined) return settleSilent(tables, job, end);
  return settleFailed(tables, job, end, finding);
}

function* settleWorking(tables: JobTables, job: Job, end: End): Statements<Settled> {
  const { job: settled, failures } = yield* recordEnd(tables, job, end);
  // Without the row the count is not known.
  if (settled !== undefined && failures === 0) return { job: settled };
  const wasOpen = yield* closeBreaker(tables, job.topic);
  return wasOpen ? { job: settled, breaker: "closes" } : { job: settled };
}

function* settleSilent(tables: JobTables, job: Job, end: End): Statements<Settled> {
  yield* withdrawProbe(tables, job);
  const { job: settled } = yield* recordEnd(tables, job, end);
  return { job: settled };
}

function* settleFailed(
  tables: JobTables,
  job: Job,
  end: End,
  failure: TopicFailure,
): Statements<Settled> {
  const breaker = yield* recordFailure(tables, job, failure);
  // While the topic is paused the delay does not count: probes take the job that was tried longest
  // ago.
  const waitsForProbe = breaker !== "counts" && end.rank === ranks.retry;
  const { job: settled } = yield* recordEnd(
    tables,
    job,
    waitsForProbe ? { ...end, delayMs: 0 } : end,
  );
  return { job: settled, breaker };
}

/** The instant of the first attempt, without that of the attempt that ends. */
const startedWithoutThis = "CASE WHEN starter = lease THEN NULL ELSE started END";

/** What the times of the first attempt and of the last lost one become. */
const timesAfter: Readonly<Record<Effect, { started: string; lost: string }>> = {
  none: { started: startedWithoutThis, lost: "lost" },
  possible: { started: "started", lost: "tried" },
  unchanged: { started: "started", lost: "lost" },
};

/** JSON in ASCII, which a database with any encoding stores. */
function formatJson(value: unknown): string | null {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value)?.replace(/[\u0080-\uffff]/g, toEscape) ?? null;
}

/**
 * Records the end of an attempt, or of a callback, which is called again until it succeeds. A job
 * without a lease is settled when a person has found out how it ended.
 * @returns the job, and how many jobs of its topic have failed.
 */
function* recordEnd(
  tables: JobTables,
  { id, lease }: Job,
  end: End,
): Statements<{ job: Job | undefined; failures: number }> {
  const { state, rank, delayMs = 0 } = end;
  const times = timesAfter[end.effect];
  const [row] = yield* query(
    `UPDATE ${tables.jobs}
     SET state = :state,
       rank = :rank::integer,
       due = :now + :delayMs::bigint,
       lease = NULL,
       result = :result,
       error = :error,
       started = ${times.started},
       lost = ${times.lost},
       ended = ${state === "waiting" ? "NULL" : "coalesce(ended, :now)"}
     WHERE id = :id::bigint
       AND coalesce(lease, '') = :lease
     RETURNING *,
       ${countFailures(tables)}`,
    {
      id,
      lease: lease ?? "",
      state,
      rank: rank ?? null,
      delayMs,
      result: formatJson(end.result),
      error: formatJson(end.error),
    },
  );
  if (row === undefined) return { job: undefined, failures: 0 };
  if (end.isErased)
    yield* execute(
      `DELETE FROM ${tables.bodies}
       WHERE id = :id::bigint`,
      { id },
    );
  return { job: readJob(row), failures: toNumber(row["failures"]) };
}

/**
 * Returns a job unsent: the attempt did not begin. It is due after `delayMs`. It stays a retry, and
 * goes before new jobs: it was chosen once, and the rank before is not stored. `tried` stays the
 * time of this lease, so that a breaker that opens tries others first.
 */
export function* giveBack(tables: JobTables, job: LeasedJob, delayMs = 0): Statements<void> {
  yield* withdrawProbe(tables, job);
  yield* execute(
    `UPDATE ${tables.jobs}
     SET lease = NULL,
       due = :now + :delayMs::bigint,
       started = ${startedWithoutThis},
       ${unlessCallback("attempts", "attempts - 1")}
     WHERE id = :id::bigint
       AND lease = :lease`,
    { id: job.id, lease: job.lease, delayMs },
  );
}

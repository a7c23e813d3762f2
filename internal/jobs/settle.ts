/** Ends an attempt: records how it ended, or gives the job back unsent. */
import { closeBreaker, recordFailure, type TopicFailure, withdrawProbe } from "./breaker.ts";
import { execute, query, type Statements, toNumber } from "./statement.ts";
import {
  failureCountSql,
  type Job,
  type JobTables,
  type LeasedJob,
  ranks,
  readJob,
} from "./tables.ts";

/** What is known of the effect of the attempts, now that one ended. In the outbox it is a card. */
type Effect =
  /** This attempt has none: then it does not count as the first one. */
  | "ruled-out"
  /** This attempt may have one: it got no response, or one such as a 500. */
  | "uncertain"
  /** What was known before. */
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
  topicResult?: "works" | TopicFailure | undefined;
}

/** What became of the row of a job whose end is recorded. */
export interface SettledRow {
  /** Absent when the lease is no longer that of this attempt. */
  job?: Job | undefined;
  /** How many jobs of the topic have failed; 0 when the lease is no longer that of the attempt. */
  failures: number;
  /** What the breaker of the topic did when the failure was counted. */
  breaker?: "counts" | "opens" | "stays-open" | undefined;
}

/** How long a job rests when its topic is paused: as long as a drain waits. */
export const maxRestMs = 10_000;

/**
 * Records how an attempt ended, and counts its failure. The job is locked before the breaker: a
 * transaction of the user may have the job for long, and others need the breaker meanwhile.
 */
export function* settleAttempt(
  tables: JobTables,
  job: LeasedJob,
  end: End,
): Statements<SettledRow> {
  const { topicResult } = end;
  if (typeof topicResult !== "object") return yield* settleRow(tables, job, end);
  yield* lockLease(tables, job);
  // The failure is counted first, because the delay of the job depends on what the breaker does:
  // while it is open, the job rests for seconds and not for its own delay, so that it is tried soon
  // after a probe works. Not at once: jobs that make the service fail would open the breaker again.
  const breaker = yield* recordFailure(tables, job, topicResult);
  const waitsForProbe = breaker !== "counts" && end.rank === ranks.started;
  const row = yield* settleRow(
    tables,
    job,
    waitsForProbe ? { ...end, delayMs: Math.min(end.delayMs ?? 0, maxRestMs) } : end,
  );
  return { ...row, breaker };
}

/**
 * Ends a probe that showed nothing, and closes the breaker of a topic that works. It is the last
 * step: a callback before it can take long, and others need the breaker meanwhile.
 * @returns what the breaker did.
 */
export function* settleTopic(
  tables: JobTables,
  job: Pick<LeasedJob, "topic" | "probe">,
  { end: { topicResult }, row }: { end: End; row: SettledRow },
): Statements<SettledRow["breaker"] | "closes"> {
  const isProbe = job.probe !== undefined;
  if (topicResult === undefined) yield* withdrawProbe(tables, job);
  // Mostly no job of the topic has failed. Without the row of the job that is not known.
  const mayHaveFailures = isProbe || row.job === undefined || row.failures > 0;
  if (topicResult !== "works" || !mayHaveFailures) return row.breaker;
  // A probe that worked waits: nobody else may close the breaker for minutes.
  const wasOpen = yield* closeBreaker(tables, job.topic, { waits: isProbe });
  return wasOpen ? "closes" : undefined;
}

/** Locks a job while this attempt has its lease. */
const lockLease = ({ jobs, dialect }: JobTables, { id, lease }: LeasedJob) =>
  query(
    `SELECT id
     FROM ${jobs}
     WHERE id = :id::bigint
       AND lease = :lease
     ${dialect.lockRows}`,
    { id, lease },
  );

/** Clears the time of the first attempt, if that is the attempt that ends. */
const clearOwnAttempt =
  "firstattempt = CASE WHEN firstlease = lease THEN NULL ELSE firstattempt END,";

/** What a settled job stores of the effect of its attempts. */
const effectSql: Readonly<Record<Effect, string>> = {
  "ruled-out": clearOwnAttempt,
  uncertain: "uncertain = :now,",
  unchanged: "",
};

/** JSON in ASCII, which a database with any encoding stores. */
function formatJson(value: unknown): string | null {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value)?.replace(/[\u0080-\uffff]/g, toEscape) ?? null;
}

/**
 * Records how a job ended, without what that says of its topic. A job without a lease ends when a
 * person has found out what became of it, or when a card arrives after the lease was lost.
 */
export function* settleRow(
  tables: JobTables,
  { id, lease }: Job,
  end: End,
): Statements<SettledRow> {
  const { state, rank, delayMs = 0 } = end;
  const [row] = yield* query(
    `UPDATE ${tables.jobs}
     SET state = :state,
       ${effectSql[end.effect]}
       rank = :rank::integer,
       due = :now + :delayMs::bigint,
       lease = NULL,
       result = :result,
       error = :error,
       ended = ${state === "waiting" ? "NULL" : "coalesce(ended, :now)"}
     WHERE id = :id::bigint
       AND coalesce(lease, '') = :lease
     RETURNING *,
       ${failureCountSql(tables)}`,
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
 * Returns a job unsent: the attempt did not begin. It is due after `delayMs`. By default it has the
 * rank of its lease, which for an attempt is `started`: the rank before is not stored.
 * `lastattempt` stays the time of this lease, so that a breaker that opens tries others first.
 */
export const giveBack = (
  tables: JobTables,
  job: LeasedJob,
  { delayMs = 0, rank = job.rank }: { delayMs?: number; rank?: number | undefined } = {},
): Statements<void> => endLease(tables, job, { delayMs, rank: rank ?? null });

/** Returns a job unsent that is not due any more. */
export const parkJob = (tables: JobTables, job: LeasedJob): Statements<void> =>
  endLease(tables, job, { delayMs: 0, rank: null });

function* endLease(
  tables: JobTables,
  job: LeasedJob,
  next: { delayMs: number; rank: number | null },
): Statements<void> {
  const countedAttempts = job.rank === ranks.callback ? 0 : 1;
  yield* execute(
    `UPDATE ${tables.jobs}
     SET lease = NULL,
       ${clearOwnAttempt}
       rank = :rank::integer,
       due = :now + :delayMs::bigint,
       attempts = attempts - ${countedAttempts}
     WHERE id = :id::bigint
       AND lease = :lease`,
    { id: job.id, lease: job.lease, ...next },
  );
  yield* withdrawProbe(tables, job);
}

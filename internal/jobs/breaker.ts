/**
 * The circuit breaker of a topic: it opens after failures of three jobs in a row, tries one job at
 * a time, and closes when one works.
 */
import { execute, query, type Statements, toNumber, toOptionalNumber } from "./statement.ts";
import { type JobTables, type LeasedJob, ranks } from "./tables.ts";

/** Jobs of a topic that failed in a row before its breaker opens. A job counts once. */
const maxFailures = 3;
const minPauseMs = 1_000;
const maxPauseMs = 60_000;
const maxRequestedMs = 15 * 60_000;

/** A failure that counts for the topic. */
export interface TopicFailure {
  reason: string;
  /** How long the service asked to wait. */
  retryAfterMs?: number | undefined;
}

/**
 * Records a failure of a topic.
 * @returns what the breaker does: it counts the failure, opens, or was open and stays so.
 */
export function* recordFailure(
  tables: JobTables,
  job: LeasedJob,
  failure: TopicFailure,
): Statements<"counts" | "opens" | "stays-open"> {
  const { topic } = job;
  // Locks the breaker until the end of the transaction: failures are counted one after the other.
  const [breaker] = yield* query(
    `INSERT INTO ${tables.breakers} (topic, reason, since)
     VALUES (:topic, :reason, :now)
     ON CONFLICT (topic) DO UPDATE SET reason = excluded.reason
     RETURNING due`,
    { topic, reason: failure.reason },
  );
  const isOpen = toOptionalNumber(breaker?.["due"]) !== undefined;
  if (isOpen) {
    if (job.probe !== undefined) yield* pauseTopic(tables, topic, planPause(job, failure));
    return "stays-open";
  }
  const failures = yield* addFailure(tables, job);
  if (failures < maxFailures) return "counts";
  yield* pauseTopic(tables, topic, planPause(job, failure));
  yield* makeRetriesDue(tables, topic);
  return "opens";
}

/** @returns how many jobs of the topic have failed. */
function* addFailure({ failures }: JobTables, { id, topic }: LeasedJob): Statements<number> {
  yield* execute(
    `INSERT INTO ${failures} (topic, job)
     VALUES (:topic, :id::bigint)
     ON CONFLICT DO NOTHING`,
    { topic, id },
  );
  const [row] = yield* query(
    `SELECT count(*) AS failures
     FROM ${failures}
     WHERE topic = :topic`,
    { topic },
  );
  return toNumber(row?.["failures"]);
}

/** How long a topic waits for the next probe: until both times have passed. */
interface Pause {
  pauseMs: number;
  /** When `pauseMs` begins. Default: now. */
  fromMs?: number | undefined;
  /** What the service asked for, from now. */
  requestedMs: number;
}

/** The pause counts from the start of a probe, because that may have ended with a timeout. */
function planPause({ probe, leasedAtMs }: LeasedJob, { retryAfterMs = 0 }: TopicFailure): Pause {
  const requestedMs = Math.min(retryAfterMs, maxRequestedMs);
  if (probe === undefined) return { pauseMs: minPauseMs, requestedMs };
  const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** probe);
  return { pauseMs, fromMs: leasedAtMs, requestedMs };
}

function* pauseTopic(
  { breakers }: JobTables,
  topic: string,
  { pauseMs, fromMs, requestedMs }: Pause,
): Statements<void> {
  // The subquery selects the later of two times, because only PostgreSQL has greatest(), and only
  // SQLite has max() of two values.
  yield* execute(
    `UPDATE ${breakers}
     SET due = (
       SELECT max(ends.due)
       FROM (
         SELECT coalesce(:fromMs::bigint, :now) + :pauseMs::bigint AS due
         UNION ALL
         SELECT :now + :requestedMs::bigint
       ) AS ends
     )
     WHERE topic = :topic`,
    { topic, pauseMs, fromMs: fromMs ?? null, requestedMs },
  );
}

/**
 * When the breaker opens, all that was tried is due, in the order of the last attempts. What a
 * transaction of the user has locked keeps its time: waiting for it would hold up the topic.
 */
function* makeRetriesDue({ jobs, dialect }: JobTables, topic: string): Statements<void> {
  yield* execute(
    `UPDATE ${jobs}
     SET due = lastattempt
     WHERE id IN (
       SELECT id
       FROM ${jobs}
       WHERE topic = :topic
         AND rank = ${ranks.started}
         AND lease IS NULL
         AND lastattempt IS NOT NULL
       ${dialect.lockFreeRows}
     )`,
    { topic },
  );
}

/**
 * Closes the breaker of a topic that works, and forgets its failures.
 * @param options `waits`: whether it waits for another transaction that has the breaker. If not,
 * nothing happens meanwhile, and the next job that works closes it.
 * @returns whether it was open.
 */
export function* closeBreaker(
  { breakers, failures, dialect }: JobTables,
  topic: string,
  { waits }: { waits: boolean },
): Statements<boolean> {
  const [closed] = yield* query(
    `DELETE FROM ${breakers}
     WHERE topic IN (
       SELECT topic
       FROM ${breakers}
       WHERE topic = :topic
       ${waits ? dialect.lockRows : dialect.lockFreeRows}
     )
     RETURNING due`,
    { topic },
  );
  yield* execute(
    `DELETE FROM ${failures}
     WHERE topic = :topic
       AND NOT EXISTS (SELECT 1 FROM ${breakers} WHERE topic = :topic)`,
    { topic },
  );
  return toOptionalNumber(closed?.["due"]) !== undefined;
}

/**
 * Begins a probe of a topic that is due for one. Until its job is settled, or its lease expires,
 * there is no other.
 * @returns its topic and number; undefined when none is due.
 */
export function* beginProbe(
  { breakers, guard, dialect }: JobTables,
  leaseMs: number,
): Statements<{ topic: string; probe: number } | undefined> {
  const [breaker] = yield* query(
    `UPDATE ${breakers}
     SET due = :now + :leaseMs::bigint,
       probes = probes + 1
     WHERE topic = (
       SELECT topic
       FROM ${breakers}
       WHERE due <= :now
         AND ${guard.condition}
       ORDER BY due
       LIMIT 1
       ${dialect.lockFreeRows}
     )
     RETURNING topic, probes`,
    { ...guard.values, leaseMs },
  );
  if (breaker === undefined) return undefined;
  return { topic: String(breaker["topic"]), probe: toNumber(breaker["probes"]) };
}

/** Withdraws a probe that showed nothing about the topic: another job may try it at once. */
export function* withdrawProbe(
  { breakers }: JobTables,
  { topic, probe }: Pick<LeasedJob, "topic" | "probe">,
): Statements<void> {
  if (probe === undefined) return;
  yield* execute(
    `UPDATE ${breakers}
     SET due = :now,
       probes = probes - 1
     WHERE topic = :topic
       AND probes = :probe::integer`,
    { topic, probe },
  );
}

/** @returns whether a topic has jobs that can try it, also if all are being sent. */
export function* hasJobsToTry({ jobs }: JobTables, topic: string): Statements<boolean> {
  const rows = yield* query(
    `SELECT 1 AS found
     FROM ${jobs}
     WHERE topic = :topic
       AND rank > ${ranks.callback}
     LIMIT 1`,
    { topic },
  );
  return rows.length > 0;
}

export function* isBreakerOpen({ breakers }: JobTables, topic: string): Statements<boolean> {
  const rows = yield* query(
    `SELECT topic
     FROM ${breakers}
     WHERE topic = :topic
       AND due IS NOT NULL`,
    { topic },
  );
  return rows.length > 0;
}

export interface OpenBreaker {
  topic: string;
  sinceMs: number;
  reason: string;
}

export function* listBreakers({ breakers }: JobTables): Statements<OpenBreaker[]> {
  const rows = yield* query(
    `SELECT topic, since, reason
     FROM ${breakers}
     WHERE due IS NOT NULL
     ORDER BY topic`,
  );
  return rows.map((row) => ({
    topic: String(row["topic"]),
    sinceMs: toNumber(row["since"]),
    reason: String(row["reason"]),
  }));
}

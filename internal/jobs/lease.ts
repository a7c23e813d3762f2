/**
 * Leases jobs: what is due, one job for a caller who waits, or one that tries a topic whose breaker
 * is open.
 */
import { describeHidden } from "../builtin-module.ts";
import { createTypeError } from "../errors.ts";
import { beginProbe, closeBreaker, hasJobsToTry } from "./breaker.ts";
import { queuesSql } from "./read.ts";
import { execute, query, type Statements, toNumber, type Values } from "./statement.ts";
import {
  failureCountSql,
  type JobTables,
  type LeasedJob,
  openBreakerSql,
  ranks,
  readJob,
} from "./tables.ts";

/** A lease lasts this much longer than its attempt, so that the result can be committed. */
export const leaseMarginMs = 30_000;

/** Probes 4, 8, 16 and so on try a new job, in case all started ones make the service fail. */
const firstNewProbe = 4;

/**
 * What the lease of an attempt changes; columns on the right have their values from before.
 *
 * - `firstlease` is the lease of the attempt that set `firstattempt`.
 * - `uncertain`: an attempt whose lease is left has not recorded its end. Its effect is not known,
 *   and it ended when that lease expired (`due`) at the latest.
 */
const beginAttempt = `rank = ${ranks.started},
       attempts = attempts + 1,
       firstattempt = coalesce(firstattempt, :now),
       firstlease = CASE WHEN firstattempt IS NULL THEN :lease ELSE firstlease END,
       uncertain = CASE WHEN lease IS NULL THEN uncertain ELSE due END,
       lastattempt = :now,`;

/** Which jobs are leased, and for what. */
interface Choice {
  /** A condition on `j`, and the values of its parameters. */
  where: string;
  values: Values;
  /** At most so many, those that are due longest. Default: 1. */
  limit?: number;
  isCallback?: boolean;
}

/**
 * Leases chosen jobs. The bodies are locked too: then PostgreSQL returns those that were committed
 * last, not those at the start of the statement.
 */
function* leaseChosen(
  tables: JobTables,
  leaseMs: number,
  { where, values, limit = 1, isCallback = false }: Choice,
): Statements<LeasedJob[]> {
  const { jobs, bodies, guard, dialect } = tables;
  if (!("randomUUID" in crypto))
    throw createTypeError(describeHidden("This package", "crypto.randomUUID"));
  const lease = crypto.randomUUID();
  const rows = yield* query(
    `WITH chosen AS MATERIALIZED (
       SELECT j.id
       FROM ${jobs} j
       WHERE ${where}
       ORDER BY j.due
       LIMIT :limit::integer
       ${dialect.lockFreeRows}
     ),
     locked AS MATERIALIZED (
       SELECT id, body
       FROM ${bodies}
       WHERE id IN (SELECT id FROM chosen)
       ${dialect.lockFreeRows}
     )
     UPDATE ${jobs}
     SET lease = :lease,
       ${isCallback ? "" : beginAttempt}
       due = :now + :leaseMs::bigint
     WHERE id IN (SELECT id FROM chosen)
       AND ${guard.condition}
     RETURNING *,
       ${failureCountSql(tables)},
       (SELECT l.body FROM locked l WHERE l.id = ${jobs}.id) AS body`,
    { ...values, ...guard.values, limit, lease, leaseMs },
  );
  return rows.map((row): LeasedJob => {
    const job = readJob(row);
    return {
      ...job,
      lease,
      leasedAtMs: job.dueAtMs - leaseMs,
      isFirstAttempt: row["firstlease"] === lease,
      failures: toNumber(row["failures"]),
    };
  });
}

/**
 * Leases what is due: of the lowest rank that is due anywhere, in one topic, the jobs that are due
 * longest.
 * @param choice `limit`: at most so many. `topic`: default all. `startedRunAlone`: whether of the
 * started jobs one is leased, which runs alone.
 */
export function* leaseDue(
  tables: JobTables,
  leaseMs: number,
  {
    limit,
    topic,
    startedRunAlone = false,
  }: { limit: number; topic?: string | undefined; startedRunAlone?: boolean },
): Statements<LeasedJob[]> {
  const queues = yield* query(
    `${queuesSql(tables)}
     SELECT topic, rank
     FROM queues
     WHERE due <= :now
     ORDER BY rank, due`,
    { topic: topic ?? null },
  );
  for (const queue of queues) {
    const rank = toNumber(queue["rank"]);
    const isCallback = rank === ranks.callback;
    const runsAlone = startedRunAlone && rank === ranks.started;
    const leased = yield* leaseChosen(tables, leaseMs, {
      // Another process may have opened the breaker since the read.
      where: `j.topic = :topic
         AND j.rank = :rank::integer
         AND j.due <= :now
         ${isCallback ? "" : `AND NOT ${openBreakerSql(tables, "j.topic")}`}`,
      values: { topic: String(queue["topic"]), rank },
      limit: runsAlone ? 1 : limit,
      isCallback,
    });
    // Transactions of the user can lock all that is due in a queue.
    const [first] = leased;
    if (first !== undefined) return runsAlone ? [{ ...first, runsAlone }] : leased;
  }
  return [];
}

/**
 * Leases one job, also before it is due, for a caller who waits.
 * @returns none while another attempt has it, and while the breaker is open.
 */
export function leaseJob(
  tables: JobTables,
  leaseMs: number,
  { topic, name }: { topic: string; name: string },
): Statements<LeasedJob[]> {
  return leaseChosen(tables, leaseMs, {
    where: `j.topic = :topic
         AND j.name = :name
         AND j.rank > ${ranks.callback}
         AND (j.lease IS NULL OR j.due <= :now)
         AND NOT ${openBreakerSql(tables, "j.topic")}`,
    values: { topic, name },
  });
}

/**
 * Leases the job that tries a topic whose breaker is open: mostly the started one that is due
 * first. One at a time: until it is settled, or its lease expires, the breaker has no other.
 */
export function* leaseProbe(tables: JobTables, leaseMs: number): Statements<LeasedJob | undefined> {
  const begun = yield* beginProbe(tables, leaseMs);
  if (begun === undefined) return undefined;
  const { topic, probe } = begun;
  for (const rank of getProbeOrder(probe)) {
    const [job] = yield* leaseChosen(tables, leaseMs, {
      where: `j.topic = :topic
         AND j.rank = :rank::integer
         AND (j.lease IS NULL OR j.due <= :now)`,
      values: { topic, rank },
    });
    if (job !== undefined) return { ...job, probe };
  }
  // All are being sent, or none is left: then the topic is not paused.
  if (!(yield* hasJobsToTry(tables, topic))) yield* closeBreaker(tables, topic, { waits: true });
  return undefined;
}

function getProbeOrder(probe: number): readonly number[] {
  const isNew = probe >= firstNewProbe && Number.isInteger(Math.log2(probe));
  return isNew ? [ranks.new, ranks.bulk, ranks.started] : [ranks.started, ranks.new, ranks.bulk];
}

/** Lets all leases expire now: those of processes that have ended. */
export function* expireLeases({ jobs }: JobTables): Statements<void> {
  yield* execute(
    `UPDATE ${jobs}
     SET due = :now
     WHERE lease IS NOT NULL
       AND due > :now`,
  );
}

/**
 * Leases jobs: what is due, one job for a caller who waits, or one that tries a topic whose breaker
 * is open.
 */
import { describeHidden } from "../builtin-module.ts";
import { createTypeError } from "../errors.ts";
import { beginProbe, closeBreaker, hasJobsToTry } from "./breaker.ts";
import { formatQueues } from "./read.ts";
import { execute, query, type Statements, toNumber, type Values } from "./statement.ts";
import {
  countFailures,
  hasOpenBreaker,
  type JobTables,
  type LeasedJob,
  ranks,
  readJob,
} from "./tables.ts";

/** Probes 16, 32, 64 and so on try a new job, in case all retries make the service fail. */
const firstNewProbe = 16;

/** A condition: whether an attempt is leased, and not a callback. */
const isAttempt = `rank > ${ranks.callback}`;

/**
 * Sets a column, but not when a callback is leased.
 * @param valueSql the new value.
 */
export const unlessCallback = (column: string, valueSql: string | number): string =>
  `${column} = CASE WHEN ${isAttempt} THEN ${valueSql} ELSE ${column} END`;

/**
 * The end of an attempt clears its lease. A job that still has one was leased before and never
 * settled, so its last attempt is lost: `lost` becomes the time of it.
 */
const setLease = `SET lease = :lease,
       due = :now + :leaseMs::bigint,
       lost = CASE WHEN ${isAttempt} AND lease IS NOT NULL THEN tried ELSE lost END,
       starter = CASE WHEN ${isAttempt} AND started IS NULL THEN :lease ELSE starter END,
       ${unlessCallback("started", "coalesce(started, :now)")},
       ${unlessCallback("tried", ":now")},
       ${unlessCallback("attempts", "attempts + 1")},
       ${unlessCallback("rank", ranks.retry)}`;

/** Selects the jobs that are leased. */
interface Choice {
  /** The common table expressions that it reads. */
  ctes?: readonly string[];
  select: string;
  values: Values;
}

/**
 * Leases chosen jobs. RECURSIVE is for `formatTopics`, which a choice may read. The bodies are
 * locked too: then PostgreSQL returns those that were committed last, not those at the start of the
 * statement.
 */
function* leaseChosen(tables: JobTables, leaseMs: number, choice: Choice): Statements<LeasedJob[]> {
  const { jobs, bodies, guard, dialect } = tables;
  const { ctes = [], select, values } = choice;
  const chosen = `chosen AS MATERIALIZED (
       ${select}
       ${dialect.lockFreeRows}
     )`;
  if (!("randomUUID" in crypto))
    throw createTypeError(describeHidden("This package", "crypto.randomUUID"));
  const lease = crypto.randomUUID();
  const rows = yield* query(
    `WITH RECURSIVE ${[...ctes, chosen].join(",\n     ")},
     locked AS MATERIALIZED (
       SELECT id, body
       FROM ${bodies}
       WHERE id IN (SELECT id FROM chosen)
       ${dialect.lockFreeRows}
     )
     UPDATE ${jobs}
     ${setLease}
     WHERE id IN (SELECT id FROM chosen)
       AND ${guard.condition}
     RETURNING *,
       ${countFailures(tables)},
       (SELECT l.body FROM locked l WHERE l.id = ${jobs}.id) AS body`,
    { ...values, ...guard.values, lease, leaseMs },
  );
  return rows.map((row): LeasedJob => {
    const job = readJob(row);
    return {
      ...job,
      lease,
      leasedAtMs: job.dueAtMs - leaseMs,
      isFirstAttempt: row["starter"] === lease,
      failures: toNumber(row["failures"]),
    };
  });
}

/**
 * Leases what is due: of the lowest rank that is due anywhere, in one topic, the jobs that are due
 * longest.
 * @param choice `limit`: at most so many. `topic`: default all.
 */
export function leaseDue(
  tables: JobTables,
  leaseMs: number,
  choice: { limit: number; topic?: string | undefined },
): Statements<LeasedJob[]> {
  return leaseChosen(tables, leaseMs, {
    ctes: [
      ...formatQueues(tables),
      `queue AS (
       SELECT topic, rank
       FROM queues
       WHERE due <= :now
       ORDER BY rank, due
       LIMIT 1
     )`,
    ],
    select: `SELECT j.id
       FROM ${tables.jobs} j
       WHERE j.topic = (SELECT topic FROM queue)
         AND j.rank = (SELECT rank FROM queue)
         AND j.due <= :now
       ORDER BY j.due
       LIMIT :limit::integer`,
    values: { limit: choice.limit, topic: choice.topic ?? null },
  });
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
    select: `SELECT j.id
       FROM ${tables.jobs} j
       WHERE j.topic = :topic
         AND j.name = :name
         AND j.rank > ${ranks.callback}
         AND (j.lease IS NULL OR j.due <= :now)
         AND NOT ${hasOpenBreaker(tables, "j.topic")}`,
    values: { topic, name },
  });
}

/**
 * Leases the job that tries a topic whose breaker is open: the retry that was tried longest
 * ago. One at a time: until it is settled, or its lease expires, the breaker has no other.
 */
export function* leaseProbe(tables: JobTables, leaseMs: number): Statements<LeasedJob | undefined> {
  const begun = yield* beginProbe(tables, leaseMs);
  if (begun === undefined) return undefined;
  const { topic, probe } = begun;
  for (const rank of getProbeOrder(probe)) {
    const [job] = yield* leaseChosen(tables, leaseMs, {
      select: `SELECT j.id
       FROM ${tables.jobs} j
       WHERE j.topic = :topic
         AND j.rank = :rank::integer
         AND (j.lease IS NULL OR j.due <= :now)
       ORDER BY j.due
       LIMIT 1`,
      values: { topic, rank },
    });
    if (job !== undefined) return { ...job, probe };
  }
  // All are being sent, or none is left: then the topic is not paused.
  if (!(yield* hasJobsToTry(tables, topic))) yield* closeBreaker(tables, topic);
  return undefined;
}

function getProbeOrder(probe: number): readonly number[] {
  const isNew = probe >= firstNewProbe && Number.isInteger(Math.log2(probe));
  return isNew ? [ranks.new, ranks.bulk, ranks.retry] : [ranks.retry, ranks.new, ranks.bulk];
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

/**
 * Adds jobs, and makes a job wait again: unchanged (retry), with a new key and body (restart), or
 * due now.
 */
import {
  execute,
  formatRow,
  formatRows,
  query,
  type Statements,
  type Types,
  toNumber,
  toRowValues,
  type Value,
} from "./statement.ts";
import { findJobs, type Job, type JobTables, ranks } from "./tables.ts";

/** A job that is added. `topic` and `name` identify it. */
export interface NewJob {
  /** Jobs of one topic share a circuit breaker: the template of a card, the source of an event. */
  topic: string;
  name: string;
  /** Identifies what is sent: an idempotency key. */
  key: string;
  suffix?: string;
  body: string;
  /** When the first attempt began, if there was one before. */
  firstAttemptAtMs?: number | undefined;
}

/** The columns that are given for a new job, with the types of their parameters. */
const insertedColumns = {
  topic: "text",
  name: "text",
  key: "text",
  suffix: "text",
  rank: "integer",
  firstattempt: "bigint",
} satisfies Types;
const names = Object.keys(insertedColumns).join(", ");
const oneRow = formatRow(insertedColumns);

/** An earlier attempt may have had an effect, so its job is a retry. */
function toValues(
  { topic, name, key, suffix = "", firstAttemptAtMs }: NewJob,
  rank: number,
): Record<keyof typeof insertedColumns, Value> {
  const isRetry = firstAttemptAtMs !== undefined;
  return {
    topic,
    name,
    key,
    suffix,
    rank: isRetry ? ranks.started : rank,
    firstattempt: firstAttemptAtMs ?? null,
  };
}

/**
 * A statement that adds the jobs which are not there, by topic and name, and returns these. With
 * WHERE, SQLite does not read ON CONFLICT as the ON of a join.
 */
const formatInsert = ({ jobs }: JobTables, rows: string): string => `WITH given (${names}) AS (
       VALUES ${rows}
     )
     INSERT INTO ${jobs} (${names}, lastattempt, uncertain, state, due, added)
     SELECT ${names}, firstattempt, firstattempt, 'waiting', :now + :delayMs::bigint, :now
     FROM given
     WHERE :inTransaction
     ON CONFLICT (name, topic) DO NOTHING
     RETURNING id, topic, name`;

/**
 * Adds a job. It is due for workers after `delayMs`, so that a caller who waits can have it first.
 * A job that waits without a body gets this one.
 * @returns undefined when it was added, else the job that has this topic and name.
 */
export function* addJob(
  tables: JobTables,
  job: NewJob,
  delayMs: number,
): Statements<Job | undefined> {
  const values = toValues(job, ranks.new);
  const insert = formatInsert(tables, oneRow);
  const [added] = yield* query(insert, { ...values, delayMs });
  if (added !== undefined) {
    yield* putBody(tables, toNumber(added["id"]), job.body);
    return undefined;
  }
  const [known] = yield* findJobs(tables, job);
  // If there is no known job, it was deleted after the insertion found it.
  if (known === undefined) return yield* addJob(tables, job, delayMs);
  const isRetried = yield* retryWithoutBody(tables, known.id);
  if (isRetried) yield* putBody(tables, known.id, job.body);
  return known;
}

/**
 * Makes a job due that waits without a body. One statement finds and changes it, because a job that
 * ended meanwhile has no body either.
 * @returns whether there was one.
 */
function* retryWithoutBody({ jobs, bodies }: JobTables, id: number): Statements<boolean> {
  const rows = yield* query(
    `UPDATE ${jobs}
     SET rank = ${ranks.started},
       due = :now,
       lease = NULL
     WHERE id = :id::bigint
       AND state = 'waiting'
       AND NOT EXISTS (SELECT 1 FROM ${bodies} b WHERE b.id = ${jobs}.id)
       AND :inTransaction
     RETURNING id`,
    { id },
  );
  return rows.length > 0;
}

function* putBody({ bodies }: JobTables, id: number, body: string): Statements<void> {
  yield* query(
    `INSERT INTO ${bodies} (id, body)
     SELECT :id::bigint, :body
     WHERE :inTransaction
     ON CONFLICT (id) DO UPDATE SET body = excluded.body
     RETURNING id`,
    { id, body },
  );
}

/**
 * Adds many jobs, which are due after all others, in a transaction of our own. Of several jobs with
 * the same topic and name, the first one is added.
 * @returns how many had no job with their topic and name.
 */
export function* addJobs(tables: JobTables, list: readonly NewJob[]): Statements<number> {
  if (list.length === 0) return 0;
  const rows = list.map((job) => toValues(job, ranks.bulk));
  const insert = formatInsert(tables, formatRows(insertedColumns, rows.length));
  const added = yield* query(insert, { ...toRowValues(rows), delayMs: 0 });
  if (added.length === 0) return 0;

  const toIdentity = (topic: unknown, name: unknown) => JSON.stringify([topic, name]);
  const fromLast = list.toReversed();
  const bodiesByJob = new Map(
    fromLast.map(({ topic, name, body }) => [toIdentity(topic, name), body]),
  );
  const newBodies = added.map(({ id, topic, name }) => ({
    id: toNumber(id),
    body: bodiesByJob.get(toIdentity(topic, name)) ?? "",
  }));
  yield* execute(
    `INSERT INTO ${tables.bodies} (id, body)
     VALUES ${formatRows({ id: "bigint", body: "text" }, newBodies.length)}`,
    toRowValues(newBodies),
  );
  return added.length;
}

/** The columns that are reset when a job waits again. */
const waitAgain = `state = 'waiting',
       due = :now + :delayMs::bigint,
       lease = NULL,
       error = NULL,
       ended = NULL`;

/**
 * Lets a job that ended wait again, as it is: an earlier attempt may still have an effect.
 * @param delayMs until it is due.
 */
export function* retryJob(tables: JobTables, id: number, delayMs: number): Statements<void> {
  yield* query(
    `UPDATE ${tables.jobs}
     SET ${waitAgain},
       rank = ${ranks.started}
     WHERE id = :id::bigint
       AND :inTransaction
     RETURNING id`,
    { id, delayMs },
  );
}

/** Lets a job begin again with what is given: no earlier attempt counts. */
export function* restartJob(
  tables: JobTables,
  { id, key, suffix, body }: Pick<Job, "id" | "key" | "suffix"> & { body: string },
): Statements<void> {
  yield* query(
    `UPDATE ${tables.jobs}
     SET ${waitAgain},
       rank = ${ranks.new},
       key = :key,
       suffix = :suffix,
       firstattempt = NULL,
       uncertain = NULL,
       attempts = 0
     WHERE id = :id::bigint
       AND :inTransaction
     RETURNING id`,
    { id, key, suffix, delayMs: 0 },
  );
  yield* putBody(tables, id, body);
}

/** Makes a job due now, unless it is leased. */
export function* makeJobDue({ jobs }: JobTables, id: number): Statements<void> {
  yield* execute(
    `UPDATE ${jobs}
     SET due = :now
     WHERE id = :id::bigint
       AND rank IS NOT NULL
       AND lease IS NULL`,
    { id },
  );
}

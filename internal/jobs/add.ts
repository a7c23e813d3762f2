/** Adds jobs, and lets a job begin anew. */
import { findJobs } from "./read.ts";
import { formatRows, query, type Statements, toNumber, toRowValues } from "./statement.ts";
import { type Job, type JobTables, ranks } from "./tables.ts";

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
  startedAtMs?: number | undefined;
}

/** The columns of a new job. Those of an earlier attempt are all its instant. */
const columns = "topic, name, key, suffix, rank, started, tried, lost, state, due, added";

/** An earlier attempt may have had an effect, so the job goes on after it. */
const getRank = ({ startedAtMs }: Pick<NewJob, "startedAtMs">, rank: number): number =>
  startedAtMs === undefined ? rank : ranks.retry;

/**
 * Adds a job. It is due for workers after `delayMs`, so that a caller who waits can have it first.
 * @returns undefined when it was added, else the job that has this topic and name.
 */
export function* addJob(
  tables: JobTables,
  job: NewJob,
  delayMs: number,
): Statements<Job | undefined> {
  const { topic, name, key, suffix = "", startedAtMs = null } = job;
  const rank = getRank(job, ranks.new);
  const [added] = yield* query(
    `INSERT INTO ${tables.jobs} (${columns})
     SELECT :topic, :name, :key, :suffix, :rank, :startedAtMs, :startedAtMs, :startedAtMs,
       'waiting', :now + :delayMs, :now
     WHERE :inTransaction
     ON CONFLICT (name, topic) DO NOTHING
     RETURNING id`,
    { topic, name, key, suffix, rank, startedAtMs, delayMs },
  );
  if (added !== undefined) {
    yield* putBody(tables, toNumber(added["id"]), job.body);
    return undefined;
  }
  const [known] = yield* findJobs(tables, job);
  // The other one was deleted meanwhile.
  return known ?? (yield* addJob(tables, job, delayMs));
}

function* putBody({ bodies }: JobTables, id: number, body: string): Statements<void> {
  yield* query(
    `INSERT INTO ${bodies} (id, body)
     SELECT :id, :body
     WHERE :inTransaction
     ON CONFLICT (id) DO UPDATE SET body = excluded.body
     RETURNING id`,
    { id, body },
  );
}

const rowParameters = ["topic", "name", "key", "suffix", "rank", "startedAtMs"] as const;

/**
 * Adds many jobs, which are due after all others, in a transaction of our own.
 * @returns how many had no job with their topic and name.
 */
export function* addJobs({ jobs, bodies }: JobTables, list: readonly NewJob[]): Statements<number> {
  if (list.length === 0) return 0;
  const rows = list.map((job) => {
    const { topic, name, key, suffix = "", startedAtMs = null } = job;
    return { topic, name, key, suffix, rank: getRank(job, ranks.bulk), startedAtMs };
  });
  // With WHERE, SQLite does not read ON CONFLICT as the ON of a join.
  const added = yield* query(
    `WITH given (topic, name, key, suffix, rank, started) AS (
       VALUES ${formatRows(rowParameters, rows.length)}
     )
     INSERT INTO ${jobs} (${columns})
     SELECT topic, name, key, suffix, rank, started, started, started, 'waiting', :now, :now
     FROM given
     WHERE true
     ON CONFLICT (name, topic) DO NOTHING
     RETURNING id, topic, name`,
    toRowValues(rows),
  );
  if (added.length === 0) return 0;

  const toIdentity = (topic: unknown, name: unknown) => JSON.stringify([topic, name]);
  const fromLast = list.toReversed(); // the first of equals was added
  const bodyOf = new Map(fromLast.map(({ topic, name, body }) => [toIdentity(topic, name), body]));
  const newBodies = added.map(({ id, topic, name }) => ({
    id: toNumber(id),
    body: bodyOf.get(toIdentity(topic, name)) ?? "",
  }));
  yield* query(
    `INSERT INTO ${bodies} (id, body)
     VALUES ${formatRows(["id", "body"], newBodies.length)}`,
    toRowValues(newBodies),
  );
  return added.length;
}

/**
 * Lets a job begin anew, also while its callback is leased.
 * @param job what is sent; without `startedAtMs`, no earlier attempt counts.
 */
export function* restartJob(
  tables: JobTables,
  job: Pick<Job, "id" | "key" | "suffix" | "startedAtMs"> & { body: string },
  delayMs = 0,
): Statements<void> {
  const { id, key, suffix, startedAtMs } = job;
  const hasStarted = startedAtMs !== undefined;
  yield* query(
    `UPDATE ${tables.jobs}
     SET state = 'waiting',
       rank = :rank,
       due = :now + :delayMs,
       lease = NULL,
       key = :key,
       suffix = :suffix,
       started = :startedAtMs,
       lost = ${hasStarted ? "lost" : "NULL"},
       attempts = 0,
       error = NULL,
       ended = NULL
     WHERE id = :id
       AND :inTransaction
     RETURNING id`,
    {
      id,
      key,
      suffix,
      delayMs,
      rank: hasStarted ? ranks.retry : ranks.new,
      startedAtMs: startedAtMs ?? null,
    },
  );
  yield* putBody(tables, id, job.body);
}

/** Makes a job due now, unless it is leased. */
export function* hurryJob({ jobs }: JobTables, id: number): Statements<void> {
  yield* query(
    `UPDATE ${jobs}
     SET due = :now
     WHERE id = :id
       AND rank IS NOT NULL
       AND lease IS NULL`,
    { id },
  );
}

/** Inserts events as jobs of pg-boss with one prepared statement. Planning an INSERT takes PostgreSQL longer than running it. */

/** The part of a started `PgBoss` that the inbox uses; versions 10, 11 and 12 have it. */
export interface PgBoss {
  /** Version 10 takes the jobs, versions 11 and 12 the queue and the jobs. */
  insert(...jobs: never[]): Promise<unknown>;
  fetch(...args: never[]): Promise<unknown>;
  complete(...job: never[]): Promise<unknown>;
  fail(...job: never[]): Promise<unknown>;
  getQueue(name: string): Promise<unknown>;
  /** Absent where an object of your own wraps `PgBoss`. */
  listenerCount?(event: "error"): number;
  on?(event: "error", listener: (error: unknown) => void): unknown;
  getDb(): { executeSql(text: string, values: unknown[]): Promise<unknown> };
}

type Rows = Record<string, unknown>[];
type Query = (text: string, values: unknown[]) => Promise<Rows>;

/** The pool that pg-boss creates itself; a custom `db` has none. */
interface Pool {
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{ rows: Rows }>;
}

/** A job as `boss.insert` takes it. */
export interface Job {
  id: string;
  data: object;
}

export interface InsertSettings {
  queue: string;
  schema: string;
  retryLimit: number;
  retentionSeconds: number;
}

/** Inserts the jobs that do not exist. @returns the ids of the inserted ones. */
export type Insert = (jobs: Job[]) => Promise<string[]>;

/** Inserts with the statement of pg-boss 11 and 12, which knows the settings of the queue. */
export function createInsert(boss: PgBoss, settings: InsertSettings): Insert {
  const { queue, retryLimit, retentionSeconds } = settings;
  const query = createPreparedQuery(boss);
  const db = {
    // Only pg-boss 12 has `returnId`.
    executeSql: async (text: string, values: unknown[]) => ({
      rows: await query(/\bRETURNING\b/.test(text) ? text : `${text} RETURNING id`, values),
    }),
  };
  const retry = { retryLimit, retryDelay: 1, retryDelayMax: 3_600, retryBackoff: true };
  const retention = { retentionSeconds, deleteAfterSeconds: retentionSeconds };
  return async (jobs) => {
    const list = jobs.map((job) => ({ ...job, ...retry, ...retention }));
    const ids = await boss.insert(...([queue, list, { returnId: true, db }] as never[]));
    return (ids as string[] | null) ?? [];
  };
}

/** Inserts with pg-boss 10. Deletes the events from the archive, so that an event that is a job now is not restored from there. */
export async function createInsert10(boss: PgBoss, settings: InsertSettings): Promise<Insert> {
  const { queue, schema, retryLimit, retentionSeconds } = settings;
  const expireInSeconds = await readExpiration(boss);
  const query = createPreparedQuery(boss);
  const statement = `WITH archived AS (DELETE FROM ${schema}.archive WHERE name = $1 AND id = ANY ($2::uuid[]))
    INSERT INTO ${schema}.job (id, name, data, retry_limit, retry_delay, retry_backoff, keep_until, expire_in, dead_letter, policy)
    SELECT event.id, queue.name, event.data, $4, 1, true, now() + $5::int * interval '1 second',
      coalesce(queue.expire_seconds, $6::int, 900) * interval '1 second', queue.dead_letter, queue.policy
    FROM json_to_recordset($3::json) AS event (id uuid, data jsonb) JOIN ${schema}.queue ON queue.name = $1
    ON CONFLICT DO NOTHING RETURNING id`;
  return async (jobs) => {
    const ids = jobs.map(({ id }) => id);
    const values = [queue, ids, JSON.stringify(jobs), retryLimit, retentionSeconds, expireInSeconds];
    return (await query(statement, values)).map(({ id }) => id as string);
  };
}

/** Reads the default expiration of pg-boss 10, which only its own insert knows. */
async function readExpiration(boss: PgBoss): Promise<unknown> {
  let expireInSeconds: unknown;
  const db = {
    async executeSql(_text: string, values: unknown[]) {
      expireInSeconds = values[1];
      return { rows: [] };
    },
  };
  await boss.insert(...([[], { db }] as never[]));
  return expireInSeconds ?? null;
}

/**
 * Prepares each statement once per connection. Where a connection pooler loses prepared statements (PgBouncer before 1.21), it
 * continues without: PostgreSQL rejects such a statement before it runs.
 */
function createPreparedQuery(boss: PgBoss): Query {
  const names = new Map<string, string>();
  let isPrepared = true;
  return async (text, values) => {
    const db = boss.getDb() as ReturnType<PgBoss["getDb"]> & { pool?: Pool };
    if (isPrepared && typeof db.pool?.query === "function") {
      // A connection rejects two texts of the same name: another version of this package may share it.
      const name = names.get(text) ?? crypto.randomUUID();
      names.set(text, name);
      try {
        return (await db.pool.query({ name, text, values })).rows;
      } catch (error) {
        if (!lostStatementCodes.includes((error as { code?: string }).code ?? "")) throw error;
        isPrepared = false;
      }
    }
    return ((await db.executeSql(text, values)) as { rows: Rows }).rows;
  };
}

/** invalid_sql_statement_name, duplicate_prepared_statement */
const lostStatementCodes = ["26000", "42P05"];

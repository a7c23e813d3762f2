/** Inserts events as jobs of pg-boss with one prepared statement. Planning an INSERT takes PostgreSQL longer than running it. */

/** The part of a started `PgBoss` of version 11 or 12 that the inbox uses. */
export interface PgBoss {
  insert(...args: never[]): Promise<unknown>;
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

/**
 * Inserts with the statement of pg-boss, which knows the settings of the queue.
 * @returns a function that inserts the jobs that do not exist, and returns the ids of the inserted ones.
 */
export function createInsert(
  boss: PgBoss,
  queue: string,
  { retryLimit, retentionSeconds }: { retryLimit: number; retentionSeconds: number },
): (jobs: Job[]) => Promise<string[]> {
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

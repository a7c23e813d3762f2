/** Keeps the process running when PostgreSQL restarts: handles the errors of pg-boss that otherwise end it. */
import type { PgBoss } from "./pg-boss-insert.ts";
import type { Report } from "./reports.ts";

/** Without a listener, an `error` event of pg-boss, such as for a closed connection, ends the process. */
export function listenForErrors(boss: PgBoss, report: Report): void {
  if (boss.listenerCount?.("error") !== 0) return;
  boss.on?.("error", (error) => report({ outcome: "unavailable", error }));
}

/** The queues of each `db` whose `executeSql` was replaced. */
const guardedQueues = new WeakMap<object, Map<string, Report>>();

/**
 * The worker of pg-boss 10 does not await the statements that complete and fail jobs, so one that is rejected ends the process. This
 * replaces `executeSql` of its `db`, so that such a statement reports `unavailable` and changes no job. The job is retried after
 * `expireInSeconds`, as with pg-boss 11 and 12.
 */
export async function guardJobEnds(boss: PgBoss, queue: string, report: Report): Promise<void> {
  const db = boss.getDb();
  const queues = guardedQueues.get(db);
  if (queues !== undefined) {
    queues.set(queue, report);
    return;
  }
  const guarded = new Map([[queue, report]]);
  guardedQueues.set(db, guarded);
  const statements = new Set([
    await readStatement(boss.complete, queue),
    await readStatement(boss.fail, queue),
  ]);
  const { executeSql } = db;
  db.executeSql = async (text, values) => {
    try {
      return await executeSql.call(db, text, values);
    } catch (error) {
      const reportTo = statements.has(text) ? guarded.get(values[0] as string) : undefined;
      if (reportTo === undefined) throw error;
      reportTo({ outcome: "unavailable", error });
      return { rows: [{ count: "0" }] }; // no job was changed
    }
  };
}

/** Reads the text of a statement of pg-boss: calls its method with a `db` that stores the text and runs nothing. */
async function readStatement(end: PgBoss["complete"], queue: string): Promise<string> {
  let statement = "";
  const db = {
    async executeSql(text: string) {
      statement = text;
      return { rows: [{ count: "0" }] };
    },
  };
  await end(...([queue, crypto.randomUUID(), null, { db }] as never[]));
  return statement;
}

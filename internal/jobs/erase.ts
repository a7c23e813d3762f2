/** Erases what jobs send, and deletes jobs. */

import {
  execute,
  formatRows,
  query,
  type Row,
  type Statements,
  toNumber,
  toRowValues,
} from "./statement.ts";
import type { JobTables } from "./tables.ts";

/** How many jobs one transaction erases or deletes. */
const batchSize = 1_000;

/**
 * Erases what was sent, and the error, of jobs that ended long ago, at most a thousand. While a
 * callback is due, the error stays: the callback says what to correct.
 * @returns whether more may be left.
 */
export function* eraseEnded(
  tables: JobTables,
  { state, retentionMs }: { state: string; retentionMs: number },
): Statements<boolean> {
  const { jobs, bodies, dialect } = tables;
  const rows = yield* query(
    `UPDATE ${jobs}
     SET error = CASE WHEN rank IS NULL THEN NULL ELSE error END
     WHERE id IN (
       SELECT j.id
       FROM ${jobs} j
       WHERE j.state = :state
         AND j.ended < :now - :retentionMs::bigint
         AND (
           EXISTS (SELECT 1 FROM ${bodies} b WHERE b.id = j.id)
           OR (j.rank IS NULL AND j.error IS NOT NULL)
         )
       LIMIT ${batchSize}
       ${dialect.lockFreeRows}
     )
     RETURNING id`,
    { state, retentionMs },
  );
  yield* eraseBodies(tables, rows);
  return rows.length === batchSize;
}

/**
 * Deletes jobs of a topic that ended long ago, at most a thousand.
 * @returns whether more may be left.
 */
export function* deleteEnded(
  tables: JobTables,
  { topic, state, retentionMs }: { topic: string; state: string; retentionMs: number },
): Statements<boolean> {
  const { jobs } = tables;
  const rows = yield* query(
    `DELETE FROM ${jobs}
     WHERE id IN (
       SELECT id
       FROM ${jobs}
       WHERE topic = :topic
         AND state = :state
         AND rank IS NULL
         AND ended < :now - :retentionMs::bigint
       LIMIT ${batchSize}
     )
     RETURNING id`,
    { topic, state, retentionMs },
  );
  yield* eraseBodies(tables, rows);
  return rows.length === batchSize;
}

/** Deletes a job, also while it is leased. */
export function* deleteJob(tables: JobTables, id: number): Statements<void> {
  yield* execute(
    `DELETE FROM ${tables.jobs}
     WHERE id = :id::bigint`,
    { id },
  );
  yield* eraseBodies(tables, [{ id }]);
}

/** Erases the bodies of these jobs. */
function* eraseBodies({ bodies }: JobTables, rows: readonly Row[]): Statements<void> {
  if (rows.length === 0) return;
  yield* execute(
    `DELETE FROM ${bodies}
     WHERE id IN (${formatRows({ id: "bigint" }, rows.length)})`,
    toRowValues(rows.map((row) => ({ id: toNumber(row["id"]) }))),
  );
}

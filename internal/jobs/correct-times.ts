/** Corrects times that were written while a clock was ahead. */
import { topicsSql } from "./read.ts";
import { execute, query, type Statements } from "./statement.ts";
import { type JobTables, ranks } from "./tables.ts";

/** Clocks that differ by less are not corrected. */
export const maxAheadMs = 60_000;
/** No lease and no pause lasts longer. */
const maxDelayMs = 2 * 3_600_000;

/** Sets a time to now if it is later. */
const capAtNowSql = (column: string): string =>
  `${column} = CASE WHEN ${column} > :now THEN :now ELSE ${column} END`;

const isAheadSql = (column: string) => `${column} > :now + ${maxAheadMs}`;

/**
 * Makes jobs and probes due whose times prove that the clock of the database was ahead, because
 * another server has taken over or the clock was corrected. The instant of the first attempt stays:
 * nobody knows when it really was. It writes only when there are some.
 */
export function* correctTimes(tables: JobTables): Statements<void> {
  yield* correctJobs(tables);
  yield* correctBreakers(tables);
}

function* correctJobs(tables: JobTables): Statements<void> {
  const { jobs } = tables;
  // With all ranks, the statement uses the index of what is due.
  const withAhead = `${topicsSql(tables)},
     ahead AS (
       SELECT j.id
       FROM topics
       CROSS JOIN ${jobs} j
       WHERE j.topic = topics.topic
         AND j.rank IN (${Object.values(ranks).join()})
         AND ${isAheadSql("j.due")}
         AND (
           ${isAheadSql("j.added")}
           OR ${isAheadSql("j.lastattempt")}
           OR j.due > :now + ${maxDelayMs}
         )
     )`;
  const [found] = yield* query(`${withAhead} SELECT id FROM ahead LIMIT 1`, { topic: null });
  if (found === undefined) return;
  yield* execute(
    `${withAhead}
     UPDATE ${jobs}
     SET due = :now,
       ${capAtNowSql("added")},
       ${capAtNowSql("lastattempt")},
       ${capAtNowSql("uncertain")}
     WHERE id IN (SELECT id FROM ahead)
       AND ${isAheadSql("due")}`,
    { topic: null },
  );
}

function* correctBreakers({ breakers }: JobTables): Statements<void> {
  const isWrong = `due IS NOT NULL
       AND (${isAheadSql("since")} OR due > :now + ${maxDelayMs})`;
  const [found] = yield* query(`SELECT topic FROM ${breakers} WHERE ${isWrong} LIMIT 1`);
  if (found === undefined) return;
  yield* execute(
    `UPDATE ${breakers}
     SET due = :now,
       ${capAtNowSql("since")}
     WHERE ${isWrong}`,
  );
}

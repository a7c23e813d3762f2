/** Reads jobs: in the order in which they were added, their counts, and when one is due. */
import { query, type Statements, toNumber, toOptionalNumber } from "./statement.ts";
import { equalsSql, type Job, type JobTables, openBreakerSql, ranks, readJob } from "./tables.ts";

/**
 * Begins a statement that reads `topics`, those of what is waiting, by a skip scan: one index
 * lookup for each topic. Read them before others with a CROSS JOIN, because SQLite reorders other
 * joins. The parameter `:topic` is the only topic that counts; null for all.
 */
export const topicsSql = ({ jobs }: JobTables): string => `WITH RECURSIVE all_topics (topic) AS (
       SELECT min(topic)
       FROM ${jobs}
       WHERE rank IS NOT NULL
       UNION ALL
       SELECT (
         SELECT min(j.topic)
         FROM ${jobs} j
         WHERE j.rank IS NOT NULL
           AND j.topic > all_topics.topic
       )
       FROM all_topics
       WHERE all_topics.topic IS NOT NULL
     ),
     topics AS (
       SELECT topic
       FROM all_topics
       WHERE topic IS NOT NULL
         AND (:topic IS NULL OR topic = :topic)
     )`;

/**
 * Begins a statement that reads `queues`: when the first job of each topic and rank is due. Of a
 * topic whose breaker is open, only callbacks are among them.
 */
export const queuesSql = (tables: JobTables): string => `${topicsSql(tables)},
     ranks (rank) AS (
       VALUES ${Object.values(ranks)
         .map((rank) => `(${rank})`)
         .join(", ")}
     ),
     queues AS (
       SELECT
         topics.topic,
         ranks.rank,
         (
           SELECT min(j.due)
           FROM ${tables.jobs} j
           WHERE j.topic = topics.topic
             AND j.rank = ranks.rank
         ) AS due
       FROM topics
       CROSS JOIN ranks
       WHERE ranks.rank = ${ranks.callback}
         OR NOT ${openBreakerSql(tables, "topics.topic")}
     )`;

/**
 * Without a state or topic, all are listed.
 * @returns jobs with their bodies, in the order in which they were added.
 */
export function* listJobs(
  { jobs, bodies }: JobTables,
  { state, topic }: { state?: string | undefined; topic?: string | undefined },
  { afterId = 0, limit }: { afterId?: number; limit: number },
): Statements<Job[]> {
  const rows = yield* query(
    `SELECT *, (SELECT b.body FROM ${bodies} b WHERE b.id = ${jobs}.id) AS body
     FROM ${jobs}
     WHERE id > :afterId::bigint
       AND ${equalsSql("topic", topic)}
       AND ${equalsSql("state", state)}
     ORDER BY id
     LIMIT :limit::integer`,
    { afterId, limit, topic: topic ?? null, state: state ?? null },
  );
  return rows.map(readJob);
}

/** How many jobs there are, and the times to monitor. */
interface JobCounts {
  /** The jobs of each state that has some. */
  states: Readonly<Record<string, number>>;
  /** Callbacks that have not succeeded. */
  callbacks: number;
  /** How long ago the oldest waiting job was added, by the clock of the database. */
  oldestWaitingMs: number | undefined;
  /** How long ago the first attempt began that may have had an effect, of the jobs that wait. */
  oldestAttemptMs: number | undefined;
}

/** @param topic default: all. */
export function* countJobs(tables: JobTables, topic?: string): Statements<JobCounts> {
  const { jobs } = tables;
  const states = yield* query(
    `SELECT state, count(*) AS jobs
     FROM ${jobs}
     WHERE ${equalsSql("topic", topic)}
     GROUP BY state`,
    { topic: topic ?? null },
  );
  const [times] = yield* query(
    `${topicsSql(tables)}
     SELECT
       (
         SELECT count(*)
         FROM topics
         CROSS JOIN ${jobs} j
         WHERE j.topic = topics.topic
           AND j.rank = ${ranks.callback}
       ) AS callbacks,
       (
         SELECT :now - added
         FROM ${jobs}
         WHERE state = 'waiting'
           AND ${equalsSql("topic", topic)}
         ORDER BY id
         LIMIT 1
       ) AS waiting,
       (
         SELECT :now - min(j.firstattempt)
         FROM topics
         CROSS JOIN ${jobs} j
         WHERE j.topic = topics.topic
           AND j.rank = ${ranks.started}
       ) AS attempt`,
    { topic: topic ?? null },
  );
  return {
    states: Object.fromEntries(
      states.map(({ state, jobs: count }) => [String(state), toNumber(count)]),
    ),
    callbacks: toNumber(times?.["callbacks"]),
    oldestWaitingMs: toOptionalNumber(times?.["waiting"]),
    oldestAttemptMs: toOptionalNumber(times?.["attempt"]),
  };
}

/** The time of the database. */
export function* getNowMs(): Statements<number> {
  const [row] = yield* query("SELECT :now AS now");
  return toNumber(row?.["now"]);
}

/**
 * The latest time that the jobs show: of the last addition, of the last attempt at a job that is
 * not due, or of the end of one, which was at most `maxDelayMs` before its job is due. 0 without
 * jobs.
 * @param maxDelayMs the longest delay after an attempt. Default: the ends of attempts do not count.
 */
export function* getLatestMs(tables: JobTables, maxDelayMs?: number): Statements<number> {
  const { jobs } = tables;
  const [row] = yield* query(
    `${topicsSql(tables)}
     SELECT
       (
         SELECT added
         FROM ${jobs}
         WHERE id = (SELECT max(id) FROM ${jobs})
       ) AS added,
       (
         SELECT max(j.lastattempt)
         FROM topics
         CROSS JOIN ${jobs} j
         WHERE j.topic = topics.topic
           AND j.rank IN (${ranks.started}, ${ranks.new})
           AND j.due > :now
       ) AS attempt,
       (
         SELECT max(j.due) - :maxDelayMs::bigint
         FROM topics
         CROSS JOIN ${jobs} j
         WHERE j.topic = topics.topic
           AND j.rank = ${ranks.started}
           AND j.due > :now
           AND j.lease IS NULL
       ) AS ended`,
    { topic: null, maxDelayMs: maxDelayMs ?? null },
  );
  return Math.max(...["added", "attempt", "ended"].map((name) => toNumber(row?.[name] ?? 0)));
}

/**
 * @param topic default: all.
 * @returns how long until something is due, in milliseconds: negative when it is overdue; undefined
 * when nothing waits.
 */
export function* getDelayMs(tables: JobTables, topic?: string): Statements<number | undefined> {
  const [row] = yield* query(
    `${queuesSql(tables)}
     SELECT min(due) - :now AS delay
     FROM (
       SELECT due FROM queues
       UNION ALL
       SELECT due FROM ${tables.breakers} WHERE due IS NOT NULL
     ) AS pending`,
    { topic: topic ?? null },
  );
  return toOptionalNumber(row?.["delay"]);
}

/**
 * @returns how long until the first lease of a running attempt expires, in milliseconds; undefined
 * when none is running.
 */
export function* getLeaseDelayMs(tables: JobTables): Statements<number | undefined> {
  const [row] = yield* query(
    `${topicsSql(tables)}
     SELECT min(j.due) - :now AS delay
     FROM topics
     CROSS JOIN ${tables.jobs} j
     WHERE j.topic = topics.topic
       AND j.rank IN (${ranks.callback}, ${ranks.started})
       AND j.lease IS NOT NULL
       AND j.due > :now`,
    { topic: null },
  );
  return toOptionalNumber(row?.["delay"]);
}

/** Durable jobs in a table of the user's own database: what is due, leases, how an attempt ended, and circuit breakers. All statements are in this file. */
import {
  formatRows,
  type Operation,
  query,
  type Row,
  toNumber,
  toOptionalNumber,
  toOptionalText,
  type Value,
} from "./statement.ts";

/** What is due next for a job, in this order. Undefined when nothing is. */
export const ranks = { callback: 0, started: 1, new: 2, bulk: 3 } as const;

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
  startedAtMs?: number;
}

export interface Job {
  id: number;
  topic: string;
  name: string;
  key: string;
  suffix: string;
  /** undefined when it was erased. */
  body: string | undefined;
  /** `waiting`, or how it ended: a word of the package. */
  state: string;
  rank: number | undefined;
  /** When it is due, or when its lease expires. */
  dueAtMs: number;
  lease: string | undefined;
  /** When the first attempt began whose effect may exist. */
  startedAtMs: number | undefined;
  /** When the last attempt began. */
  triedAtMs: number | undefined;
  /** When the last attempt began whose effect is not known: it got no response or one such as a 500, or its process ended. */
  lostAtMs: number | undefined;
  /** Since the last restart, without callbacks. */
  attempts: number;
  /** JSON of the package. */
  result: string | undefined;
  /** JSON of the package. */
  error: string | undefined;
  addedAtMs: number;
  endedAtMs: number | undefined;
}

export interface JobCounts {
  states: Record<string, number>;
  callbacks: number;
  /** When the first one was added that is waiting. */
  oldestWaitingAtMs: number | undefined;
  /** The earliest first attempt of those that are waiting. */
  oldestStartedAtMs: number | undefined;
}

/** A job that belongs to one attempt until its lease expires. */
export interface LeasedJob extends Job {
  lease: string;
  leasedAtMs: number;
  /** Whether this attempt set `startedAtMs`. */
  isFirstAttempt: boolean;
  /** How many jobs of its topic failed in a row. */
  failures: number;
  /** The number of the probe, when the breaker of the topic is open and this job was chosen to try it. */
  probe?: number;
}

/** The job that an end is recorded for: a leased one; or one that is not leased, which has no `lease`. */
export type EndedJob = Pick<LeasedJob, "id" | "topic" | "isFirstAttempt" | "failures" | "probe"> & {
  lease: string | undefined;
  leasedAtMs?: number;
};

/** How an attempt ended. */
export interface End {
  state: string;
  /** What is due next; undefined when nothing is. */
  rank?: number | undefined;
  /** Until it is due. Default 0. */
  delayMs?: number;
  /** Default: as before. */
  result?: string | undefined;
  /** Default: none. */
  error?: string | undefined;
  /** Whether nothing can come from this attempt: then it does not count as the first one. Default: something can. */
  hasNoEffect?: boolean;
  isErased?: boolean;
  /** What the end says of the topic: `works` closes its breaker, a failure counts. Default: nothing. */
  finding?: "works" | { reason: string; retryAfterMs?: number | undefined } | undefined;
}

/** What a job begins again with. */
export interface Restart {
  key: string;
  suffix: string;
  body: string;
  startedAtMs?: number | undefined;
  /** Default 0. */
  delayMs?: number;
}

/** Jobs of a topic that failed in a row before its breaker opens. A job counts once. */
const maxFailures = 3;
const minPauseMs = 1_000;
const maxPauseMs = 60_000;
const maxRequestedMs = 15 * 60_000;
/** Probes 16, 32, 64 and so on try a new job, in case all started ones make the service fail. */
const firstNewProbe = 16;

/**
 * The tables. Names of columns are one word, because clients can rename others: `due_at` to `dueAt`. Bodies have a table of their own,
 * because SQLite overwrites what is deleted, but not each copy of a row that grew and was moved within its page.
 * @param id the type of an id.
 */
export const formatTables = (table: string, id: string): string => `CREATE TABLE IF NOT EXISTS ${table} (
  id ${id}, topic text NOT NULL, name text NOT NULL, key text NOT NULL, suffix text NOT NULL DEFAULT '',
  state text NOT NULL, rank integer, due bigint NOT NULL, lease text, started bigint, tried bigint, lost bigint,
  attempts integer NOT NULL DEFAULT 0, result text, error text, added bigint NOT NULL, ended bigint, UNIQUE (name, topic));
CREATE INDEX IF NOT EXISTS ${table}_due ON ${table} (topic, rank, due) WHERE rank IS NOT NULL;
CREATE INDEX IF NOT EXISTS ${table}_state ON ${table} (state, id);
CREATE TABLE IF NOT EXISTS ${table}_bodies (id ${id.split(" ")[0]} PRIMARY KEY, body text NOT NULL);
CREATE TABLE IF NOT EXISTS ${table}_breakers (topic text PRIMARY KEY, failed text NOT NULL, failures integer NOT NULL, reason text NOT NULL,
  since bigint NOT NULL, due bigint, probes integer NOT NULL DEFAULT 0);
`;

/** Ids are never used again. */
export const idTypes = {
  sqlite: "INTEGER PRIMARY KEY AUTOINCREMENT",
  postgres: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
};

function readJob(row: Row): Job {
  return {
    id: toNumber(row["id"]),
    topic: String(row["topic"]),
    name: String(row["name"]),
    key: String(row["key"]),
    suffix: String(row["suffix"]),
    body: toOptionalText(row["body"]),
    state: String(row["state"]),
    rank: toOptionalNumber(row["rank"]),
    dueAtMs: toNumber(row["due"]),
    lease: toOptionalText(row["lease"]),
    startedAtMs: toOptionalNumber(row["started"]),
    triedAtMs: toOptionalNumber(row["tried"]),
    lostAtMs: toOptionalNumber(row["lost"]),
    attempts: toNumber(row["attempts"]),
    result: toOptionalText(row["result"]),
    error: toOptionalText(row["error"]),
    addedAtMs: toNumber(row["added"]),
    endedAtMs: toOptionalNumber(row["ended"]),
  };
}

/** A condition of leases, such as that the tables have the version that this process knows. */
export interface Guard {
  values: readonly string[];
  /** @param first the number of the parameter of the first value: `$4`. */
  format(first: number): string;
}

/**
 * @param table the name of the table; that of the breakers follows from it.
 * @param guard nothing is leased while it is false. Default: none.
 */
export function createJobs(table: string, guard: Guard = { values: [], format: () => "true" }) {
  const breakers = `${table}_breakers`;
  const [guardAt2, guardAt4, guardAt5] = [2, 4, 5].map(guard.format);
  const hasOpenBreaker = (topic: string) =>
    `EXISTS (SELECT 1 FROM ${breakers} b WHERE b.topic = ${topic} AND b.due IS NOT NULL)`;

  /** The topics of what is waiting: each is one step in the index. A CROSS JOIN with them, because SQLite reorders other joins. */
  const withTopics = `WITH RECURSIVE topics (topic) AS (
    SELECT min(topic) FROM ${table} WHERE rank IS NOT NULL
    UNION ALL
    SELECT (SELECT min(j.topic) FROM ${table} j WHERE j.rank IS NOT NULL AND j.topic > topics.topic) FROM topics WHERE topics.topic IS NOT NULL
  )`;
  /** As `withTopics`. @param parameter the number of the parameter of the only topic that counts; it is the last one. */
  const withTopic = (topic: string | undefined, parameter: number) =>
    topic === undefined ? withTopics : `WITH topics (topic) AS (SELECT $${parameter}::text)`;
  const listValues = (value: string | undefined) => (value === undefined ? [] : [value]);

  /**
   * Marks a job as leased. A callback does not count as an attempt, and changes no instant. When a lease has expired, its attempt may still have an effect.
   * The lease says whether the attempt is the first one, because RETURNING has the new values only.
   */
  const setLease = `lease = $1::text || CASE WHEN rank > 0 AND started IS NULL THEN ' first' ELSE '' END,
    lost = CASE WHEN rank > 0 AND lease IS NOT NULL THEN tried ELSE lost END, due = :now + $2::text::bigint,
    attempts = attempts + CASE WHEN rank > 0 THEN 1 ELSE 0 END, tried = CASE WHEN rank > 0 THEN :now ELSE tried END,
    started = CASE WHEN rank > 0 THEN coalesce(started, :now) ELSE started END, rank = CASE WHEN rank > 0 THEN ${ranks.started} ELSE rank END`;
  const columns = `*, (SELECT c.body FROM ${table}_bodies c WHERE c.id = ${table}.id) AS body`;
  const returning = `RETURNING ${columns}, (SELECT b.failures FROM ${breakers} b WHERE b.topic = ${table}.topic) AS failures`;

  const toLeased = (row: Row, leaseMs: number): LeasedJob => {
    const job = readJob(row);
    const lease = job.lease ?? "";
    const isFirstAttempt = lease.endsWith(" first");
    const failures = toOptionalNumber(row["failures"]) ?? 0;
    return { ...job, lease, leasedAtMs: job.dueAtMs - leaseMs, isFirstAttempt, failures };
  };

  const putBody = `INSERT INTO ${table}_bodies (id, body) VALUES ($1::text::bigint, $2::text) ON CONFLICT (id) DO UPDATE SET body = excluded.body`;
  const dropBody = `DELETE FROM ${table}_bodies WHERE id = $1::text::bigint`;

  function* dropBodies(ids: readonly number[]): Operation<void> {
    if (ids.length === 0) return;
    const list = ids.map((_, index) => `$${index + 1}::text::bigint`).join(", ");
    yield* query(`DELETE FROM ${table}_bodies WHERE id IN (${list})`, ...ids);
  }

  const jobs = {
    /**
     * Adds a job. It is due for workers after `delayMs`, so that a caller who waits can have it first.
     * @returns undefined when it was added, else the job that has this topic and name.
     */
    *add(job: NewJob, delayMs: number): Operation<Job | undefined> {
      const [added] = yield* query(
        `INSERT INTO ${table} (topic, name, key, suffix, state, rank, due, started, tried, lost, added)
         VALUES ($1::text, $2::text, $3::text, $4::text, 'waiting', $5::text::integer, :now + $6::text::bigint,
           $7::text::bigint, $7::text::bigint, $7::text::bigint, :now)
         ON CONFLICT (name, topic) DO NOTHING RETURNING id`,
        ...[job.topic, job.name, job.key, job.suffix ?? ""],
        ...[job.startedAtMs === undefined ? ranks.new : ranks.started, delayMs, job.startedAtMs ?? null],
      );
      if (added === undefined) return yield* jobs.find(job.topic, job.name);
      yield* query(putBody, toNumber(added["id"]), job.body);
      return undefined;
    },

    /** Adds many jobs, which are due after all others. @returns how many had no job with their topic and name. */
    *addAll(list: readonly NewJob[]): Operation<number> {
      if (list.length === 0) return 0;
      const types = ["text", "text", "text", "text", "integer", "bigint"];
      const added = yield* query(
        `INSERT INTO ${table} (topic, name, key, suffix, state, rank, due, started, tried, lost, added)
         SELECT v.column1, v.column2, v.column3, v.column4, 'waiting', v.column5, :now, v.column6, v.column6, v.column6, :now
         FROM (VALUES ${formatRows(types, list.length)}) AS v WHERE true ON CONFLICT (name, topic) DO NOTHING RETURNING id, topic, name`,
        ...list.flatMap(({ topic, name, key, suffix = "", startedAtMs }): Value[] => [
          ...[topic, name, key, suffix],
          ...[startedAtMs === undefined ? ranks.bulk : ranks.started, startedAtMs ?? null],
        ]),
      );
      if (added.length === 0) return 0;
      const toPlace = (topic: unknown, name: unknown) => JSON.stringify([topic, name]);
      const bodies = new Map<string, string>();
      for (const { topic, name, body } of list)
        if (!bodies.has(toPlace(topic, name))) bodies.set(toPlace(topic, name), body); // the first of equals was added
      yield* query(
        `INSERT INTO ${table}_bodies (id, body) VALUES ${formatRows(["bigint", "text"], added.length)}`,
        ...added.flatMap((row): Value[] => [
          toNumber(row["id"]),
          bodies.get(toPlace(row["topic"], row["name"])) ?? "",
        ]),
      );
      return added.length;
    },

    *find(topic: string, name: string): Operation<Job | undefined> {
      return (yield* jobs.findByName(name, topic))[0];
    },

    /**
     * Finds the jobs of a name, at most two.
     * @param topic default: of all topics.
     * @param isLocked locks them until the end of the transaction, which changes them.
     */
    *findByName(name: string, topic?: string, isLocked = false): Operation<Job[]> {
      const rows = yield* query(
        `SELECT ${columns} FROM ${table} WHERE name = $1::text ${topic === undefined ? "" : "AND topic = $2::text "}LIMIT 2${isLocked ? " FOR UPDATE" : ""}`,
        ...(topic === undefined ? [name] : [name, topic]),
      );
      return rows.map(readJob);
    },

    /**
     * Leases what is due: of the lowest rank that is due anywhere, in one topic, the jobs that are due longest. A topic whose breaker is open has only
     * callbacks, so the time does not depend on how many of its jobs wait.
     * @param topic default: of all topics.
     */
    *lease(limit: number, leaseMs: number, topic?: string): Operation<LeasedJob[]> {
      const rows = yield* query(
        `${withTopic(topic, 4 + guard.values.length)}, places AS (
           SELECT topics.topic, r.rank, (SELECT min(j.due) FROM ${table} j WHERE j.topic = topics.topic AND j.rank = r.rank) AS due
           FROM topics CROSS JOIN (SELECT 0 AS rank UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) r
           WHERE topics.topic IS NOT NULL AND (r.rank = ${ranks.callback} OR NOT ${hasOpenBreaker("topics.topic")})
         ), place AS (
           SELECT topic, rank FROM places WHERE due <= :now ORDER BY rank, due LIMIT 1
         ), chosen AS MATERIALIZED (
           SELECT j.id FROM ${table} j WHERE j.topic = (SELECT topic FROM place) AND j.rank = (SELECT rank FROM place) AND j.due <= :now
             AND ${guardAt4} ORDER BY j.due LIMIT $3::text::integer FOR UPDATE SKIP LOCKED
         )
         UPDATE ${table} SET ${setLease} WHERE id IN (SELECT id FROM chosen) ${returning}`,
        ...[crypto.randomUUID(), leaseMs, limit, ...guard.values, ...listValues(topic)],
      );
      return rows.map((row) => toLeased(row, leaseMs));
    },

    /** Leases one job, also before it is due, for a caller who waits. @returns undefined while another attempt has it, and while the breaker is open. */
    *leaseOne(topic: string, name: string, leaseMs: number): Operation<LeasedJob | undefined> {
      const [row] = yield* query(
        `UPDATE ${table} SET ${setLease} WHERE id = (
           SELECT id FROM ${table} j WHERE topic = $3::text AND name = $4::text AND rank > 0 AND (lease IS NULL OR due <= :now)
             AND NOT ${hasOpenBreaker("j.topic")} AND ${guardAt5} FOR UPDATE SKIP LOCKED
         ) ${returning}`,
        ...[crypto.randomUUID(), leaseMs, topic, name, ...guard.values],
      );
      return row && toLeased(row, leaseMs);
    },

    /**
     * Leases the job that tries a topic whose breaker is open: the started one that was tried longest ago. One at a time: until it
     * is settled, or its lease expires, the breaker has no other.
     */
    *leaseProbe(leaseMs: number): Operation<LeasedJob | undefined> {
      const [breaker] = yield* query(
        `UPDATE ${breakers} SET due = :now + $1::text::bigint, probes = probes + 1 WHERE topic = (
           SELECT topic FROM ${breakers} WHERE due <= :now AND ${guardAt2} ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED
         ) RETURNING topic, probes`,
        leaseMs,
        ...guard.values,
      );
      if (breaker === undefined) return undefined;
      const topic = String(breaker["topic"]);
      const probe = toNumber(breaker["probes"]);
      const isNew = probe >= firstNewProbe && Number.isInteger(Math.log2(probe));
      const order = isNew ? [ranks.new, ranks.bulk, ranks.started] : [ranks.started, ranks.new, ranks.bulk];
      for (const rank of order) {
        const [row] = yield* query(
          `UPDATE ${table} SET ${setLease} WHERE id = (
             SELECT id FROM ${table} WHERE topic = $3::text AND rank = $4::text::integer AND (lease IS NULL OR due <= :now)
             ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED
           ) ${returning}`,
          ...[crypto.randomUUID(), leaseMs, topic, rank],
        );
        if (row !== undefined) return { ...toLeased(row, leaseMs), probe };
      }
      return undefined; // all are being sent
    },

    /**
     * Records how an attempt ended, and what it says of its topic.
     * @returns the job, undefined when the lease is no longer that of this attempt; and whether the breaker opened or closed.
     */
    *settle(
      job: EndedJob,
      { state, rank, delayMs = 0, result, error, hasNoEffect = false, isErased = false, finding }: End,
    ): Operation<{ job: Job | undefined; breaker?: "opened" | "closed" }> {
      const counted = typeof finding === "object" ? yield* jobs.fail(job, finding) : undefined;
      // While the breaker is open, a started job has no delay: probes go by the time of the last attempt.
      const waitMs = counted?.isOpen && rank === ranks.started ? 0 : delayMs;
      const [row] = yield* query(
        `UPDATE ${table} SET state = $1::text, rank = $2::text::integer, due = :now + $3::text::bigint, lease = NULL,
           result = coalesce($4::text, result), error = $5::text, started = CASE WHEN $6::text::integer = 1 THEN NULL ELSE started END,
           lost = CASE WHEN $7::text::integer = 1 THEN tried ELSE lost END,
           ended = CASE WHEN $1::text = 'waiting' THEN NULL ELSE coalesce(ended, :now) END
         WHERE id = $8::text::bigint AND coalesce(lease, '') = $9::text ${returning}`,
        ...[
          state,
          rank ?? null,
          waitMs,
          result ?? null,
          error ?? null,
          Number(hasNoEffect && job.isFirstAttempt),
        ],
        ...[Number(!hasNoEffect && state === "waiting"), job.id, job.lease ?? ""],
      );
      if (isErased && row !== undefined) yield* query(dropBody, job.id);
      const settled = row && readJob(row);
      if (finding === undefined) yield* jobs.endProbe(job);
      if (counted?.isOpened) return { job: settled, breaker: "opened" };
      const failures = row === undefined ? job.failures : (toOptionalNumber(row["failures"]) ?? 0);
      if (finding !== "works" || failures === 0) return { job: settled };
      return (yield* jobs.close(job.topic)) ? { job: settled, breaker: "closed" } : { job: settled };
    },

    /** Counts a failure of a topic. The pause until the next probe counts from the start of this one, because it may have ended with a timeout. */
    *fail(
      { id, topic, probe, leasedAtMs }: Pick<EndedJob, "id" | "topic" | "probe" | "leasedAtMs">,
      { reason, retryAfterMs }: { reason: string; retryAfterMs?: number | undefined },
    ): Operation<{ isOpen: boolean; isOpened: boolean }> {
      const requestedMs = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, maxRequestedMs);
      const pauseMs = requestedMs ?? Math.min(maxPauseMs, minPauseMs * 2 ** (probe ?? 0));
      const pausedFromMs = probe !== undefined && requestedMs === undefined ? leasedAtMs : undefined;
      const isKnown = "b.failed LIKE '%,' || $2::text || ',%'";
      const [row] = yield* query(
        `INSERT INTO ${breakers} AS b (topic, failed, failures, reason, since) VALUES ($1::text, ',' || $2::text || ',', 1, $3::text, :now)
         ON CONFLICT (topic) DO UPDATE SET
           failures = CASE WHEN b.failures >= ${maxFailures} OR ${isKnown} THEN b.failures ELSE b.failures + 1 END,
           failed = CASE WHEN b.failures >= ${maxFailures} OR ${isKnown} THEN b.failed ELSE b.failed || $2::text || ',' END,
           reason = excluded.reason,
           due = CASE WHEN $5::text::integer = 1 OR (b.due IS NULL AND b.failures = ${maxFailures - 1} AND NOT ${isKnown})
             THEN coalesce($6::text::bigint, :now) + $4::text::bigint ELSE b.due END
         RETURNING due, failures, failed`,
        // The id is text, because a number could become '1.0' in the list.
        ...[topic, String(id), reason, pauseMs, Number(probe !== undefined), pausedFromMs ?? null],
      );
      const isOpen = row?.["due"] !== null && row?.["due"] !== undefined;
      // The job that was appended last has opened it.
      const isOpened = isOpen && probe === undefined && String(row["failed"]).endsWith(`,${id},`);
      if (isOpened)
        yield* query(
          `UPDATE ${table} SET due = tried WHERE topic = $1::text AND rank = ${ranks.started} AND lease IS NULL AND tried IS NOT NULL`,
          topic,
        );
      return { isOpen, isOpened };
    },

    /** Closes the breaker of a topic. @returns whether it was open. */
    *close(topic: string): Operation<boolean> {
      const [row] = yield* query(`DELETE FROM ${breakers} WHERE topic = $1::text RETURNING due`, topic);
      return row !== undefined && row["due"] !== null;
    },

    /** Lets another job try the topic: that of this probe says nothing of it. */
    *endProbe({ topic, probe }: Pick<EndedJob, "topic" | "probe">): Operation<void> {
      if (probe === undefined) return;
      yield* query(
        `UPDATE ${breakers} SET due = :now, probes = probes - 1 WHERE topic = $1::text AND probes = $2::text::integer`,
        ...[topic, probe],
      );
    },

    /** Returns a job unsent: the attempt did not begin. */
    *giveBack(job: LeasedJob): Operation<void> {
      yield* jobs.endProbe(job);
      yield* query(
        `UPDATE ${table} SET lease = NULL, due = :now, attempts = attempts - CASE WHEN rank > 0 THEN 1 ELSE 0 END,
           started = CASE WHEN $1::text::integer = 1 THEN NULL ELSE started END WHERE id = $2::text::bigint AND lease = $3::text`,
        ...[Number(job.isFirstAttempt), job.id, job.lease],
      );
    },

    /** The time of the database. */
    *getNow(): Operation<number> {
      const [row] = yield* query("SELECT :now AS now");
      return toNumber(row?.["now"]);
    },

    /** The latest time that the jobs show: when the last one was added, or when one that waits was tried. 0 without jobs. */
    *getLatest(): Operation<number> {
      const [row] = yield* query(
        `${withTopics} SELECT (SELECT added FROM ${table} WHERE id = (SELECT max(id) FROM ${table})) AS added,
           (SELECT max(j.tried) FROM topics JOIN ${table} j ON j.topic = topics.topic AND j.rank = ${ranks.started}) AS tried`,
      );
      return Math.max(toNumber(row?.["added"] ?? 0), toNumber(row?.["tried"] ?? 0));
    },

    /** How long until something is due, in milliseconds: negative when it is overdue; undefined when nothing waits. @param topic default: all. */
    *getDelay(topic?: string): Operation<number | undefined> {
      const [row] = yield* query(
        `${withTopic(topic, 1)}, places AS (
           SELECT (SELECT min(j.due) FROM ${table} j WHERE j.topic = topics.topic AND j.rank = r.rank) AS due
           FROM topics CROSS JOIN (SELECT 0 AS rank UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) r
           WHERE topics.topic IS NOT NULL AND (r.rank = ${ranks.callback} OR NOT ${hasOpenBreaker("topics.topic")})
           UNION ALL SELECT due FROM ${breakers} WHERE due IS NOT NULL
         ) SELECT min(due) - :now AS delay FROM places`,
        ...listValues(topic),
      );
      return toOptionalNumber(row?.["delay"]);
    },

    /** How long until the first lease of a running attempt expires, in milliseconds; undefined when none is running. */
    *getLeaseDelay(): Operation<number | undefined> {
      const [row] = yield* query(
        `${withTopics} SELECT min(j.due) - :now AS delay FROM topics CROSS JOIN ${table} j
           WHERE j.topic = topics.topic AND j.rank IN (${ranks.callback}, ${ranks.started}) AND j.lease IS NOT NULL AND j.due > :now`,
      );
      return toOptionalNumber(row?.["delay"]);
    },

    /** Jobs in the order in which they were added. @param state undefined for all. @param topic default: of all topics. */
    *list(state: string | undefined, afterId: number, limit: number, topic?: string): Operation<Job[]> {
      const ofState = state === undefined ? "" : "state = $3::text AND ";
      const ofTopic = topic === undefined ? "" : `topic = $${state === undefined ? 3 : 4}::text AND `;
      const rows = yield* query(
        `SELECT ${columns} FROM ${table} WHERE ${ofState}${ofTopic}id > $1::text::bigint ORDER BY id LIMIT $2::text::integer`,
        ...[afterId, limit, ...listValues(state), ...listValues(topic)],
      );
      return rows.map(readJob);
    },

    /** Counts the jobs of each state and the callbacks that are due, and returns the times to monitor. @param topic default: of all topics. */
    *count(topic?: string): Operation<JobCounts> {
      const ofTopic = topic === undefined ? "" : " AND topic = $1::text";
      const rows = yield* query(
        `SELECT state, count(*) AS jobs FROM ${table} WHERE true${ofTopic} GROUP BY state`,
        ...listValues(topic),
      );
      const [row] = yield* query(
        `${withTopic(topic, 1)} SELECT
           (SELECT count(*) FROM topics CROSS JOIN ${table} j WHERE j.topic = topics.topic AND j.rank = ${ranks.callback}) AS callbacks,
           (SELECT added FROM ${table} WHERE state = 'waiting'${ofTopic} ORDER BY id LIMIT 1) AS oldest,
           (SELECT min(j.started) FROM topics CROSS JOIN ${table} j WHERE j.topic = topics.topic AND j.rank = ${ranks.started}) AS started`,
        ...listValues(topic),
      );
      return {
        states: Object.fromEntries(rows.map(({ state, jobs: count }) => [String(state), toNumber(count)])),
        callbacks: toNumber(row?.["callbacks"]),
        oldestWaitingAtMs: toOptionalNumber(row?.["oldest"]),
        oldestStartedAtMs: toOptionalNumber(row?.["started"]),
      };
    },

    *listBreakers(): Operation<{ topic: string; sinceMs: number; reason: string }[]> {
      const rows = yield* query(
        `SELECT topic, since, reason FROM ${breakers} WHERE due IS NOT NULL ORDER BY topic`,
      );
      return rows.map((row) => ({
        topic: String(row["topic"]),
        sinceMs: toNumber(row["since"]),
        reason: String(row["reason"]),
      }));
    },

    /** Lets a job begin anew, also while its callback is leased. @param changes what is sent; without `startedAtMs`, no earlier attempt counts. */
    *restart(id: number, changes: Restart): Operation<void> {
      const { key, suffix, body, startedAtMs, delayMs = 0 } = changes;
      yield* query(
        `UPDATE ${table} SET state = 'waiting', rank = $1::text::integer, due = :now + $2::text::bigint, lease = NULL, key = $3::text,
           suffix = $4::text, started = $5::text::bigint, lost = CASE WHEN $5::text IS NULL THEN NULL ELSE lost END, attempts = 0,
           error = NULL, ended = NULL
         WHERE id = $6::text::bigint`,
        ...[startedAtMs === undefined ? ranks.new : ranks.started, delayMs, key, suffix],
        ...[startedAtMs ?? null, id],
      );
      yield* query(putBody, id, body);
    },

    /** Makes a job due now, unless it is leased. */
    *hurry(id: number): Operation<void> {
      yield* query(
        `UPDATE ${table} SET due = :now WHERE id = $1::text::bigint AND rank IS NOT NULL AND lease IS NULL`,
        id,
      );
    },

    /** Erases what was sent, and the error, of jobs that ended long ago, at most a thousand. @returns whether more may be left. */
    *erase(state: string, retentionMs: number): Operation<boolean> {
      const rows = yield* query(
        `UPDATE ${table} SET error = NULL WHERE id IN (
           SELECT id FROM ${table} j WHERE state = $1::text AND ended < :now - $2::text::bigint
             AND EXISTS (SELECT 1 FROM ${table}_bodies b WHERE b.id = j.id) LIMIT 1000 FOR UPDATE SKIP LOCKED
         ) RETURNING id`,
        ...[state, retentionMs],
      );
      yield* dropBodies(rows.map(({ id }) => toNumber(id)));
      return rows.length === 1000;
    },

    /** Deletes jobs that ended long ago, at most a thousand. @param topic default: of all topics. @returns whether more may be left. */
    *sweep(state: string, retentionMs: number, topic?: string): Operation<boolean> {
      const rows = yield* query(
        `DELETE FROM ${table} WHERE id IN (
           SELECT id FROM ${table} WHERE state = $1::text AND rank IS NULL AND ended < :now - $2::text::bigint
             ${topic === undefined ? "" : "AND topic = $3::text "}LIMIT 1000
         ) RETURNING id`,
        ...[state, retentionMs, ...listValues(topic)],
      );
      yield* dropBodies(rows.map(({ id }) => toNumber(id)));
      return rows.length === 1000;
    },

    /** Deletes a job, also while it is leased. @returns it. */
    *delete(topic: string, name: string): Operation<Job | undefined> {
      const [row] = yield* query(
        `DELETE FROM ${table} WHERE topic = $1::text AND name = $2::text RETURNING ${columns}`,
        ...[topic, name],
      );
      if (row !== undefined) yield* query(dropBody, toNumber(row["id"]));
      return row && readJob(row);
    },
  };
  return jobs;
}

export type Jobs = ReturnType<typeof createJobs>;

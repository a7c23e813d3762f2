/** Hands events over to pg-boss, version 10 (Node 20), 11 (Node 22) or 12 (Node 22.12): a PostgreSQL that you already run. */
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { eventOf } from "./body-text.ts";
import { placeOf } from "./failure.ts";
import { grouping } from "./grouping.ts";
import type { InboxEntry, InboxHealth, InspectableInbox } from "./health.ts";
import { checkedJobData, type JobData, jobData } from "./job.ts";
import { type ReportOptions, reporter } from "./outcome.ts";
import { archivedDeadLetters, checkArchive, type PgBossConfig } from "./pg-boss-archive.ts";
import { reportingPut } from "./put-reporting.ts";
import { checkedRetention, defaultRetentionSeconds } from "./retention.ts";
import { uuidOf } from "./uuid-node.ts";

/** What the inbox needs of a started `PgBoss`; versions 10, 11 and 12 have it. */
export interface PgBossLike {
  /** Version 10 takes the jobs, versions 11 and 12 the queue and the jobs. */
  insert(...jobs: never[]): Promise<unknown>;
  getQueue(name: string): Promise<unknown>;
  getDb(): { executeSql(text: string, values: unknown[]): Promise<unknown> };
}

/** Which queue, how long events are remembered, and how often they are tried. */
export interface PgBossInboxOptions extends ReportOptions {
  /** A queue of its own, created before with the policy `standard`. */
  queue: string;
  /** How long events are remembered, handled or not. Default 14 days, at least 8 h 37 min. With pg-boss 10 dead letters stay. */
  retentionSeconds?: number;
  /**
   * How often a failed event is tried again, with pauses of 1, 2, 4, … seconds. Default 16 with pg-boss 10; 20 with pg-boss 11 and 12, where no pause is
   * longer than an hour. Either goes on for more than eight hours.
   */
  retryLimit?: number;
  /**
   * With pg-boss 10 and a `db` of your own: what you gave it as `archiveCompletedAfterSeconds`. Otherwise it is read.
   */
  archiveCompletedAfterSeconds?: number;
  /** The schema of pg-boss. Default: what it was made with, else `pgboss`. */
  schema?: string;
}

export interface PgBossInbox extends Inbox, InspectableInbox {}

/**
 * Checks the queue, and gives an inbox. `boss` must have been started.
 * @throws {TypeError} for a retention shorter than the service's retries, for a queue that could merge two events, and for a
 * pg-boss 10 that deletes dead letters within a day of archiving them.
 * @throws when pg-boss cannot be reached, or has no such queue.
 * @example
 * ```ts
 * import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import PgBoss from "pg-boss"; // with pg-boss 12: import { PgBoss } from "pg-boss"
 *
 * const boss = new PgBoss(process.env.DATABASE_URL ?? "");
 * await boss.start();
 * await boss.createQueue("loyalty");
 * const inbox = await pgBossInbox(boss, { queue: "loyalty" });
 * await boss.work("loyalty", inboxHandler(onEvents({ ping: ({ id }) => console.log(id), other: () => {} })));
 * export const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", inbox });
 * ```
 */
export async function pgBossInbox(boss: PgBossLike, options: PgBossInboxOptions): Promise<PgBossInbox> {
  const { queue } = options;
  const retentionSeconds = checkedRetention(
    "retentionSeconds",
    options.retentionSeconds ?? defaultRetentionSeconds,
  );
  const report = reporter(options);
  const found = await existingQueue(boss, queue);
  const isVersion10 = !("deleteAfterSeconds" in found);
  const { retryLimit = isVersion10 ? 16 : 20 } = options;
  const schema = schemaOf(boss, options);
  const jobs = `${schema}.job`;
  const rows = async (text: string, values: unknown[]) =>
    ((await boss.getDb().executeSql(text, values)) as { rows: Record<string, unknown>[] }).rows;
  const archive = isVersion10 ? archivedDeadLetters(rows, schema, queue) : undefined;
  if (isVersion10) {
    const { archiveCompletedAfterSeconds } = options;
    const config = configOf(boss);
    await checkArchive(rows, {
      ...config,
      ...(archiveCompletedAfterSeconds !== undefined && { archiveSeconds: archiveCompletedAfterSeconds }),
    });
    archive?.restoreHourly();
  }

  async function insert(data: ReadonlyMap<string, object>): Promise<void> {
    const retry = { retryLimit, retryDelay: 1, retryBackoff: true };
    const keepUntil = new Date(Date.now() + retentionSeconds * 1000).toISOString();
    const keep = isVersion10
      ? { name: queue, keepUntil }
      : { retryDelayMax: 3_600, retentionSeconds, deleteAfterSeconds: retentionSeconds };
    const list = [...data].map(([id, each]) => ({ id, data: each, ...retry, ...keep }));
    await boss.insert(...((isVersion10 ? [list] : [queue, list]) as never[]));
  }

  /** Dead letters wait again, with all of their attempts and with this data. Of calls at the same time one gets the row. */
  async function revive(letters: { id: string; data?: object }[]): Promise<Set<unknown>> {
    const revived = await rows(
      `UPDATE ${jobs} AS job SET state = 'created', retry_count = 0, started_on = NULL, completed_on = NULL, output = NULL,
         start_after = now(), keep_until = now() + $3::int * interval '1 second', data = coalesce(letter.data, job.data)
       FROM json_to_recordset($2::json) AS letter (id uuid, data jsonb)
       WHERE job.name = $1 AND job.id = letter.id AND ${isDead} RETURNING job.id::text AS id`,
      [queue, JSON.stringify(letters), retentionSeconds],
    );
    return new Set(revived.map(({ id }) => id));
  }

  /** pg-boss inserts what is new and says nothing: whose data it has tells which arrival was the first. */
  async function store(arrivals: { id: string; data: JobData & { copy: string } }[]) {
    const firsts = new Map<string, object>();
    for (const { id, data } of arrivals) if (!firsts.has(id)) firsts.set(id, data);
    await insert(firsts);
    // What is among the jobs now must not come back from the archive.
    const cleaned = isVersion10
      ? `WITH archived AS (DELETE FROM ${schema}.archive WHERE name = $1 AND id = ANY ($2::uuid[]))`
      : "";
    const question = `${cleaned} SELECT id::text, data->>'copy' AS copy, ${isDead} AS is_dead FROM ${jobs}
      WHERE name = $1 AND id = ANY ($2::uuid[])`;
    const found = await rows(question, [queue, [...firsts.keys()]]);
    const kept = new Map(found.map(({ id, copy }) => [id, copy]));
    const dead = found.filter((row) => row["is_dead"]).map((row) => row["id"] as string);
    const letters = dead.map((id) => ({ id, data: firsts.get(id) ?? {} }));
    const revived = letters.length > 0 ? await revive(letters) : new Set();
    return arrivals.map(({ id, data }) => {
      const copy = kept.get(id);
      if (copy === undefined) return "missing";
      const isRevival = revived.has(id) && firsts.get(id) === data;
      return copy === data.copy || isRevival ? "stored" : "duplicate";
    });
  }
  const storeTogether = grouping(store, { atOnce: 2, most: 500 });

  return {
    put: reportingPut(report, async (event, { body, receivedAt }) => {
      archive?.restoreHourly();
      const data = { ...jobData(body, receivedAt), copy: crypto.randomUUID() };
      const result = await storeTogether({ id: uuidOf(event), data });
      if (result !== "missing") return result;
      throw new Error(`pg-boss did not keep the event: does the queue "${queue}" still exist?`);
    }),
    async health(): Promise<InboxHealth> {
      try {
        await archive?.restore();
        const [row = {}] = await rows(
          `SELECT count(*) FILTER (WHERE state < 'completed') AS waiting, count(*) FILTER (WHERE ${isDead}) AS dead,
             extract(epoch FROM now() - min(created_on) FILTER (WHERE state < 'completed')) * 1000 AS oldest
           FROM ${jobs} WHERE name = $1`,
          [queue],
        );
        const oldestWaitingMs = row["oldest"] === null ? {} : { oldestWaitingMs: Number(row["oldest"]) };
        return {
          isReachable: true,
          waiting: Number(row["waiting"]),
          dead: Number(row["dead"]),
          ...oldestWaitingMs,
        };
      } catch (error) {
        return { isReachable: false, waiting: 0, dead: 0, fault: placeOf(error) };
      }
    },
    async list({ state, limit = 100 } = {}) {
      await archive?.restore();
      const states = state === undefined ? Object.values(statesOf).flat() : statesOf[state];
      const found = await rows(
        `SELECT data, state::text, retry_count FROM ${jobs} WHERE name = $1 AND state::text = ANY ($2::text[])
         ORDER BY created_on, id LIMIT $3`,
        [queue, states, limit],
      );
      return found.map((row) => entryOf(row["data"], row["state"] as string, Number(row["retry_count"])));
    },
    async replay(eventId) {
      await archive?.restore();
      return (await revive([{ id: uuidOf({ id: eventId }) }])).size === 1;
    },
  };
}

const isDead = "state IN ('failed', 'cancelled')";
const statesOf = {
  waiting: ["created", "retry", "active"],
  done: ["completed"],
  dead: ["failed", "cancelled"],
} satisfies Record<InboxEntry["state"], string[]>;

function entryOf(data: unknown, jobState: string, retries: number): InboxEntry {
  const { body, receivedAt } = checkedJobData(data);
  const { id, type } = eventOf(body);
  const [state] = Object.entries(statesOf).find(([, states]) => states.includes(jobState)) ?? ["waiting"];
  const attempts = jobState === "created" ? 0 : retries + 1;
  return { id, type, state: state as InboxEntry["state"], receivedAt: new Date(receivedAt), attempts };
}

async function existingQueue(boss: PgBossLike, queue: string): Promise<object> {
  let found: unknown;
  try {
    found = await boss.getQueue(queue);
  } catch (cause) {
    throw new Error(
      "pg-boss does not answer. Is it started (await boss.start()), and PostgreSQL reachable?",
      { cause },
    );
  }
  if (typeof found !== "object" || found === null)
    throw new Error(`pg-boss has no queue "${queue}". Create it before: await boss.createQueue("${queue}").`);
  const { policy } = found as { policy?: unknown };
  if (policy === undefined || policy === null || policy === "standard") return found;
  throw new TypeError(
    `The queue "${queue}" has the policy "${String(policy)}", under which pg-boss drops jobs that are not copies. Events need "standard".`,
  );
}

const configOf = (boss: PgBossLike): PgBossConfig => (boss.getDb() as { config?: PgBossConfig }).config ?? {};

function schemaOf(
  boss: PgBossLike,
  { schema = configOf(boss).schema ?? "pgboss" }: PgBossInboxOptions,
): string {
  if (/^[a-zA-Z_]\w*$/.test(schema)) return schema;
  throw new TypeError(`schema is "${schema}"; pg-boss allows letters, digits and underscores.`);
}

/** Hands events over to pg-boss, version 10 (Node 20) or 12 (Node 22.12): a PostgreSQL that you already run. */
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { eventOf } from "./body-text.ts";
import { placeOf } from "./failure.ts";
import { grouping } from "./grouping.ts";
import type { InboxEntry, InboxHealth, InspectableInbox } from "./health.ts";
import { checkedJobData, type JobData, jobData } from "./job.ts";
import { type ReportOptions, reporter } from "./outcome.ts";
import { reportingPut } from "./put-reporting.ts";
import { checkedRetention, defaultRetentionSeconds } from "./retention.ts";
import { uuidOf } from "./uuid-node.ts";

/** What the inbox needs of a started `PgBoss`; versions 10 and 12 have it. */
export interface PgBossLike {
  /** Version 10 takes the jobs, version 12 the queue and the jobs. */
  insert(...jobs: never[]): Promise<unknown>;
  getQueue(name: string): Promise<unknown>;
  getJobById(name: string, id: string): Promise<unknown>;
  retry(name: string, id: string): Promise<unknown>;
  getDb(): { executeSql(text: string, values: unknown[]): Promise<unknown> };
}

/** Which queue, how long events are remembered, and how often they are tried. */
export interface PgBossInboxOptions extends ReportOptions {
  /** A queue of its own, created before with the policy `standard`. */
  queue: string;
  /** How long events are remembered, handled or not. Default 14 days, at least 8 h 37 min. */
  retentionSeconds?: number;
  /**
   * How often a failed event is tried again, with pauses of 1, 2, 4, … seconds. Default 16 with pg-boss 10; 20 with pg-boss 12, where no pause is
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
 * @throws {TypeError} for a retention shorter than the service's retries, or a queue that could merge two events.
 * @throws when pg-boss cannot be reached, or has no such queue.
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
  if (isVersion10) checkArchive(boss, options);
  const { retryLimit = isVersion10 ? 16 : 20 } = options;
  const jobs = `${schemaOf(boss, options)}.job`;

  const rows = async (text: string, values: unknown[]) =>
    ((await boss.getDb().executeSql(text, values)) as { rows: Record<string, unknown>[] }).rows;

  async function insert(data: ReadonlyMap<string, object>): Promise<void> {
    const retry = { retryLimit, retryDelay: 1, retryBackoff: true };
    const keepUntil = new Date(Date.now() + retentionSeconds * 1000).toISOString();
    const keep = isVersion10
      ? { name: queue, keepUntil }
      : { retryDelayMax: 3_600, retentionSeconds, deleteAfterSeconds: retentionSeconds };
    const list = [...data].map(([id, each]) => ({ id, data: each, ...retry, ...keep }));
    await boss.insert(...((isVersion10 ? [list] : [queue, list]) as never[]));
  }

  /** pg-boss inserts what is new and says nothing: whose data it has tells which arrival was the first. */
  async function store(arrivals: { id: string; data: JobData & { copy: string } }[]) {
    const firsts = new Map<string, object>();
    for (const { id, data } of arrivals) if (!firsts.has(id)) firsts.set(id, data);
    await insert(firsts);
    const question = `SELECT id::text, data->>'copy' AS copy FROM ${jobs} WHERE name = $1 AND id = ANY ($2::uuid[])`;
    const kept = new Map(
      (await rows(question, [queue, [...firsts.keys()]])).map(({ id, copy }) => [id, copy]),
    );
    return arrivals.map(({ id, data }) => {
      const copy = kept.get(id);
      return copy === undefined ? "missing" : copy === data.copy ? "stored" : "duplicate";
    });
  }
  const storeTogether = grouping(store, { atOnce: 2, most: 500 });

  return {
    put: reportingPut(report, async (event, { body, receivedAt }) => {
      const data = { ...jobData(body, receivedAt), copy: crypto.randomUUID() };
      const result = await storeTogether({ id: uuidOf(event), data });
      if (result !== "missing") return result;
      throw new Error(`pg-boss did not keep the event: does the queue "${queue}" still exist?`);
    }),
    async health(): Promise<InboxHealth> {
      try {
        const [row = {}] = await rows(
          `SELECT count(*) FILTER (WHERE state < 'completed') AS waiting, count(*) FILTER (WHERE state = 'failed') AS dead,
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
      const states = state === undefined ? Object.values(statesOf).flat() : statesOf[state];
      const found = await rows(
        `SELECT data, state::text, retry_count FROM ${jobs} WHERE name = $1 AND state::text = ANY ($2::text[])
         ORDER BY created_on, id LIMIT $3`,
        [queue, states, limit],
      );
      return found.map((row) => entryOf(row["data"], row["state"] as string, Number(row["retry_count"])));
    },
    async replay(eventId) {
      const id = uuidOf({ id: eventId });
      const job = (await boss.getJobById(queue, id)) as { state?: string } | null;
      if (job?.state !== "failed") return false;
      await boss.retry(queue, id);
      return true;
    },
  };
}

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

/** Version 10 moves ended jobs to an archive where it does not look for duplicates. */
function checkArchive(boss: PgBossLike, options: PgBossInboxOptions): void {
  const { archiveSeconds, archiveFailedSeconds } = configOf(boss);
  const { archiveCompletedAfterSeconds = archiveSeconds } = options;
  if (archiveCompletedAfterSeconds === undefined) {
    throw new TypeError(
      "With a db of your own, pg-boss 10 does not tell when it archives jobs: pass archiveCompletedAfterSeconds here too.",
    );
  }
  checkedRetention("archiveCompletedAfterSeconds of pg-boss", archiveCompletedAfterSeconds);
  if (archiveFailedSeconds !== undefined)
    checkedRetention("archiveFailedAfterSeconds of pg-boss", archiveFailedSeconds);
}

interface BossConfig {
  schema?: string;
  archiveSeconds?: number;
  archiveFailedSeconds?: number;
}

const configOf = (boss: PgBossLike): BossConfig => (boss.getDb() as { config?: BossConfig }).config ?? {};

function schemaOf(
  boss: PgBossLike,
  { schema = configOf(boss).schema ?? "pgboss" }: PgBossInboxOptions,
): string {
  if (/^[a-zA-Z_]\w*$/.test(schema)) return schema;
  throw new TypeError(`schema is "${schema}"; pg-boss allows letters, digits and underscores.`);
}

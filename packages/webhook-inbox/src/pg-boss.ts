/** `pgBossInbox`: a durable inbox on pg-boss 11 (Node.js 22) or 12 (Node.js 22.12), for a PostgreSQL that you already run. */

import { createHash } from "node:crypto";
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { createBatching } from "./batching.ts";
import { parseJobData, toEventKey, toJobData } from "./event.ts";
import { inboxHandler, type QueueHandler } from "./inbox-handler.ts";
import { defaultRetentionSeconds, validateNumber, validateRetention, validateSource } from "./options.ts";
import { createInsert, type Job, type PgBoss } from "./pg-boss-insert.ts";
import {
  createPut,
  createReport,
  type InboxEntry,
  type InboxHealth,
  type InspectableInbox,
  type Report,
  type ReportOptions,
  readHealth,
} from "./reports.ts";

/** The queue, how long events are remembered, and the number of retries. */
export interface PgBossInboxOptions extends ReportOptions {
  /** A queue for events only, created before with the policy `standard`. */
  queue: string;
  /**
   * The service or endpoint that sends the events. Default `""`. Events of two sources are never duplicates of each other. `health` and
   * `list` describe the whole queue.
   */
  source?: string;
  /** How long events are remembered, processed or not. Default 14 days, at least 8 h 37 min. */
  retentionSeconds?: number;
  /**
   * After this many failures the event is a dead letter. Default 21, with pauses of 1, 2, 4, … seconds, at most an hour: more than
   * eight hours.
   */
  maxAttempts?: number;
  /** The schema of pg-boss. Default: the configured one, else `pgboss`. */
  schema?: string;
}

/** An inbox on pg-boss. */
export interface PgBossInbox extends Inbox, InspectableInbox {
  /**
   * Runs the handler for every event that is due, and resolves with the state of the inbox when none is: for cron and serverless functions,
   * in the place of `boss.work`. After `maxMs` it takes no further event, and waits for the running handlers. An event that fails waits for
   * a later call.
   * @param options `concurrency`: how many handlers run at once, default 4.
   */
  drain(handler: QueueHandler, options?: { maxMs?: number; concurrency?: number }): Promise<InboxHealth>;
}

/**
 * Checks the queue, and returns an inbox. `boss` must have been started. Its `error` events are reported as `unavailable` if it has no
 * listener for them.
 * @throws {TypeError} for a retention shorter than the service's retries, for a queue that could merge two events, and for pg-boss 10.
 * @throws when pg-boss cannot be reached, or does not have the queue.
 * @example
 * ```ts
 * import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
 * import { onEvents } from "@loyalty-cards/webhook-verify";
 * import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
 * import { PgBoss } from "pg-boss"; // with pg-boss 11: import PgBoss from "pg-boss"
 *
 * const boss = new PgBoss(process.env.DATABASE_URL ?? "");
 * await boss.start();
 * await boss.createQueue("loyalty");
 * const inbox = await pgBossInbox(boss, { queue: "loyalty" });
 * await boss.work("loyalty", inboxHandler(onEvents({ ping: ({ id }) => console.log(id), otherTypes: () => {} })));
 * export const receive = fetchReceiver({ secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "", inbox });
 * ```
 */
export async function pgBossInbox(boss: PgBoss, options: PgBossInboxOptions): Promise<PgBossInbox> {
  const { queue, source = "", maxAttempts = 21 } = options;
  validateSource(source);
  validateNumber("maxAttempts", maxAttempts, 1);
  const retentionSeconds = validateRetention(
    "retentionSeconds",
    options.retentionSeconds ?? defaultRetentionSeconds,
  );
  const report = createReport(options);
  listenForErrors(boss, report);
  await checkQueue(boss, queue);
  const schema = getSchema(boss, options);
  const table = `${schema}.job`;
  const rows = async (text: string, values: unknown[]) =>
    ((await boss.getDb().executeSql(text, values)) as { rows: Record<string, unknown>[] }).rows;
  const insert = createInsert(boss, queue, { retryLimit: maxAttempts - 1, retentionSeconds });

  /** Gives dead letters all of their attempts again, with this data. Of concurrent calls only one updates a row. */
  async function revive(letters: { id: string; data?: object }[]): Promise<Set<unknown>> {
    const revived = await rows(
      `UPDATE ${table} AS job SET state = 'created', retry_count = 0, started_on = NULL, completed_on = NULL, output = NULL,
         start_after = now(), keep_until = now() + $3::int * interval '1 second', data = coalesce(letter.data, job.data)
       FROM json_to_recordset($2::json) AS letter (id uuid, data jsonb)
       WHERE job.name = $1 AND job.id = letter.id AND ${isDead} RETURNING job.id::text AS id`,
      [queue, JSON.stringify(letters), retentionSeconds],
    );
    return new Set(revived.map(({ id }) => id));
  }

  /** Stores the first delivery of each event; the other deliveries of that event are duplicates. */
  async function store(deliveries: Job[]) {
    const firsts = new Map<string, Job>();
    for (const delivery of deliveries) if (!firsts.has(delivery.id)) firsts.set(delivery.id, delivery);
    // In the same order in every process, so that two groups with the same events cannot deadlock.
    const jobs = [...firsts.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
    const stored = new Set<unknown>(await insert(jobs));
    const existing = new Set<unknown>(stored);
    if (stored.size < firsts.size) {
      const ids = [...firsts.keys()].filter((id) => !stored.has(id));
      const query = `SELECT id::text, ${isDead} AS is_dead FROM ${table} WHERE name = $1 AND id = ANY ($2::uuid[])`;
      const found = await rows(query, [queue, ids]);
      for (const { id } of found) existing.add(id);
      const dead = found.filter((row) => row["is_dead"]).map((row) => firsts.get(row["id"] as string) as Job);
      if (dead.length > 0) for (const id of await revive(dead)) stored.add(id);
    }
    return deliveries.map((delivery) => {
      const { id } = delivery;
      if (!existing.has(id)) return "missing";
      return stored.has(id) && firsts.get(id) === delivery ? "stored" : "duplicate";
    });
  }
  const storeBatched = createBatching(store, { concurrency: 2, maxItems: 500 });

  const health = () =>
    readHealth(options, async () => {
      const [row = {}] = await rows(
        `SELECT count(*) FILTER (WHERE state < 'completed') AS waiting, count(*) FILTER (WHERE ${isDead}) AS dead,
           extract(epoch FROM now() - min(created_on) FILTER (WHERE state < 'completed')) * 1000 AS oldest
         FROM ${table} WHERE name = $1`,
        [queue],
      );
      const oldestWaitingMs = row["oldest"] === null ? undefined : Number(row["oldest"]);
      return { waiting: Number(row["waiting"]), dead: Number(row["dead"]), oldestWaitingMs };
    });

  return {
    put: createPut(report, async (event, { body, receivedAt }) => {
      const result = await storeBatched({
        id: toUuid(toEventKey(event, source)),
        data: toJobData(body, receivedAt, source),
      });
      if (result !== "missing") return result;
      throw withSafeMessage(
        new Error(`pg-boss did not store the event: does the queue "${queue}" still exist?`),
      );
    }),
    async drain(handler, { maxMs = Number.MAX_SAFE_INTEGER, concurrency = 4 } = {}) {
      validateNumber("maxMs", maxMs, 0);
      validateNumber("concurrency", concurrency, 1, 10_000);
      const handle = inboxHandler(handler, options);
      const endsAtMs = performance.now() + maxMs;
      let isEmpty = false;
      async function work(): Promise<void> {
        while (!isEmpty && performance.now() < endsAtMs) {
          const jobs = await boss.fetch(...([queue, { batchSize: 1, includeMetadata: true }] as never[]));
          const [job] = (jobs ?? []) as { id: string }[];
          isEmpty ||= job === undefined;
          if (job === undefined) return;
          const end = await handle(job).then(
            () => boss.complete,
            () => boss.fail, // reported by `handle`
          );
          await end.call(boss, ...([queue, job.id] as never[]));
        }
      }
      await Promise.all(Array.from({ length: concurrency }, work));
      return health();
    },
    health,
    async list({ state, limit = 100 } = {}) {
      const states = state === undefined ? Object.values(jobStates).flat() : jobStates[state];
      const found = await rows(
        `SELECT data, state::text, retry_count FROM ${table} WHERE name = $1 AND state::text = ANY ($2::text[])
         ORDER BY created_on, id LIMIT $3`,
        [queue, states, limit],
      );
      return found.map((row) => toEntry(row["data"], row["state"] as string, Number(row["retry_count"])));
    },
    async replay(eventId) {
      return (await revive([{ id: toUuid(toEventKey({ id: eventId }, source)) }])).size === 1;
    },
  };
}

const isDead = "state IN ('failed', 'cancelled')";
const jobStates = {
  waiting: ["created", "retry", "active"],
  done: ["completed"],
  dead: ["failed", "cancelled"],
} satisfies Record<InboxEntry["state"], string[]>;

function toEntry(data: unknown, jobState: string, retries: number): InboxEntry {
  const { event, receivedAt } = parseJobData(data);
  const [state] = Object.entries(jobStates).find(([, states]) => states.includes(jobState)) ?? ["waiting"];
  const attempts = jobState === "created" ? 0 : retries + 1;
  return { id: event.id, type: event.type, state: state as InboxEntry["state"], receivedAt, attempts };
}

/** Without a listener, an `error` event of pg-boss, such as for a closed connection, ends the process. */
function listenForErrors(boss: PgBoss, report: Report): void {
  if (boss.listenerCount?.("error") !== 0) return;
  boss.on?.("error", (error) => report({ outcome: "unavailable", error }));
}

async function checkQueue(boss: PgBoss, queue: string): Promise<void> {
  let found: unknown;
  try {
    found = await boss.getQueue(queue);
  } catch (cause) {
    throw new Error(
      "pg-boss does not respond. Is it started (await boss.start()), and PostgreSQL reachable?",
      { cause },
    );
  }
  if (typeof found !== "object" || found === null)
    throw new Error(`pg-boss has no queue "${queue}". Create it first: await boss.createQueue("${queue}").`);
  if (!("deleteAfterSeconds" in found))
    throw new TypeError(
      "pgBossInbox needs pg-boss 11 (Node.js 22) or 12 (Node.js 22.12). This one is older.",
    );
  const { policy } = found as { policy?: unknown };
  if (policy === undefined || policy === null || policy === "standard") return;
  throw new TypeError(
    `The queue "${queue}" has the policy "${String(policy)}", under which pg-boss drops jobs that are not duplicates. Events need "standard".`,
  );
}

function getSchema(boss: PgBoss, options: PgBossInboxOptions): string {
  const { config } = boss.getDb() as { config?: { schema?: string } }; // a custom `db` has none
  const schema = options.schema ?? config?.schema ?? "pgboss";
  if (/^[a-zA-Z_]\w*$/.test(schema)) return schema;
  throw new TypeError(`schema is "${schema}"; pg-boss allows letters, digits and underscores.`);
}

/** The namespace of our UUIDs (RFC 9562, section 6.6): arbitrary, but it must never change. */
const namespace = Buffer.from("6f1c1c2e5d0b4a579c391d5f6a0e8b42", "hex");

/** The version 5 UUID of an event: the same for every duplicate. Uses node:crypto, because WebCrypto takes as long as the insert. */
export function toUuid(key: string): string {
  const digest = createHash("sha1").update(namespace).update(key, "utf8").digest().subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The programs that receive the webhooks of a mutated service: one with a handler before the response, one for each inbox. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import PgBoss from "pg-boss";
import {
  bullmqInbox,
  type InspectableInbox,
  inboxHandler,
  pgBossInbox,
  sqliteInbox,
} from "../../packages/webhook-inbox/src/index.ts";
import { fetchReceiver } from "../../packages/webhook-verify/src/adapters/fetch.ts";
import {
  type Inbox,
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
  type WebhookEvent,
} from "../../packages/webhook-verify/src/index.ts";

const databaseUrl = process.env["DATABASE_URL"] ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** Runs under way at a time: most of a run is waiting for disks and servers. */
export const runsAtOnce = 4;

/** What a program knows from its webhooks, as the guides tell it to: the newest event of each thing decides. */
export interface Beliefs {
  /** The ids of the events whose handler has ended, one for each time. */
  handled: string[];
  /** The types of the events that went to the handler `unknown`. */
  unknown: string[];
  balances: Map<string, number>;
  tiers: Map<string, unknown>;
  consents: Map<string, unknown>;
  /** An event had no place in an order, so the program has to read the card. */
  hasGaps: boolean;
}

export interface Consumer {
  name: string;
  beliefs: Beliefs;
  receive(request: Request): Promise<Response>;
  /** Resolves when the handler of each stored event has ended. */
  settled(): Promise<void>;
  /** The ids of the events that no attempt of the handler could end. */
  dead(): Promise<string[]>;
  close(): Promise<void>;
}

type ConsumerOptions = Pick<ReceiverOptions, "secret" | "toleranceSeconds"> & { log(line: string): void };

export interface Engines {
  names: string[];
  open(options: ConsumerOptions): Promise<Consumer[]>;
  close(): Promise<void>;
}

function handling() {
  const beliefs: Beliefs = {
    handled: [],
    unknown: [],
    balances: new Map(),
    tiers: new Map(),
    consents: new Map(),
    hasGaps: false,
  };
  const newest = new Map<string, [createdAtMs: number, id: string]>();

  function isNewest(key: string, { id, createdAt }: WebhookEvent): boolean {
    const atMs = Date.parse(createdAt);
    if (Number.isNaN(atMs)) beliefs.hasGaps = true;
    const [newestMs, newestId] = newest.get(key) ?? [Number.NEGATIVE_INFINITY, ""];
    if (Number.isNaN(atMs) || atMs < newestMs || (atMs === newestMs && id <= newestId)) return false;
    newest.set(key, [atMs, id]);
    return true;
  }

  const handle = onEvents({
    "card.added": () => {},
    "card.removed": () => {},
    "balance.changed": (event) => {
      const { passId, balance } = event.data;
      if (isNewest(`balance ${passId}`, event)) beliefs.balances.set(passId, balance);
    },
    "tier.changed": (event) => {
      const { passId, tier } = event.data;
      if (isNewest(`tier ${passId}`, event)) beliefs.tiers.set(passId, tier);
    },
    "consent.changed": (event) => {
      const { customerId, marketingConsent } = event.data;
      if (isNewest(`consent ${customerId}`, event)) beliefs.consents.set(customerId, marketingConsent);
    },
    ping: () => {},
    unknown: ({ type }) => {
      beliefs.unknown.push(type);
    },
  });
  return {
    beliefs,
    handle: async (event: WebhookEvent, delivery: Parameters<typeof handle>[1]) => {
      await handle(event, delivery);
      beliefs.handled.push(event.id);
    },
  };
}

function accepting(options: ConsumerOptions): Consumer {
  const { beliefs, handle } = handling();
  return {
    name: "accept",
    beliefs,
    receive: fetchReceiver({ ...options, accept: handle, dedupe: memoryDedupe() }),
    settled: async () => {},
    dead: async () => [],
    close: async () => {},
  };
}

/** Waits until the inbox holds nothing that waits. */
async function emptied(inbox: InspectableInbox, work: () => Promise<void> = () => pause(5)): Promise<void> {
  for (;;) {
    const { isReachable, waiting } = await inbox.health();
    if (!isReachable) throw new Error("The inbox cannot be reached.");
    if (waiting === 0) return;
    await work();
  }
}

const deadOf = async (inbox: InspectableInbox) => (await inbox.list({ state: "dead" })).map(({ id }) => id);

function receiving(options: ConsumerOptions, inbox: Inbox): Consumer["receive"] {
  return fetchReceiver({ ...options, inbox });
}

function inSqlite(options: ConsumerOptions): Consumer {
  const folder = mkdtempSync(join(tmpdir(), "unknown-service-"));
  const inbox = sqliteInbox({ file: join(folder, "inbox.db"), log: options.log });
  const { beliefs, handle } = handling();
  inbox.work(handle, { concurrency: 16, maxAttempts: 2, backoff: { initialDelayMs: 0 } });
  return {
    name: "SQLite",
    beliefs,
    receive: receiving(options, inbox),
    settled: () => emptied(inbox),
    dead: () => deadOf(inbox),
    async close() {
      await inbox.close({ graceMs: 0 });
      rmSync(folder, { recursive: true });
    },
  };
}

type Open = (options: ConsumerOptions) => Promise<Consumer>;

/** pg-boss in a schema of this process's own, with a queue for each run. */
async function onPgBoss(): Promise<{ open: Open; close(): Promise<void> }> {
  const schema = `unknown_service_${randomUUID().replaceAll("-", "")}`;
  const boss = new PgBoss({
    connectionString: databaseUrl,
    schema,
    supervise: false,
    schedule: false,
    max: 4,
  });
  boss.on("error", () => {}); // rejects what was asked for, too
  await boss.start();
  /** Created before the runs: a queue is a partition, and creating one while jobs are stored is a deadlock. */
  const free = Array.from({ length: runsAtOnce }, (_, index) => `events-${index}`);
  for (const queue of free) await boss.createQueue(queue);

  async function open(options: ConsumerOptions): Promise<Consumer> {
    const queue = free.pop();
    if (queue === undefined) throw new Error(`There are queues for ${runsAtOnce} runs at once.`);
    const inbox = await pgBossInbox(boss, { queue, log: options.log });
    const { beliefs, handle } = handling();
    const work = inboxHandler(handle, { log: options.log });
    return {
      name: "pg-boss",
      beliefs,
      receive: receiving(options, inbox),
      settled: () =>
        emptied(inbox, async () => {
          // Fetched here, because a worker of pg-boss looks no more often than every half second.
          const jobs = (await boss.fetch(queue, { batchSize: 100 })) ?? [];
          await work(jobs);
          await boss.complete(
            queue,
            jobs.map(({ id }) => id),
          );
        }),
      dead: () => deadOf(inbox),
      async close() {
        for (const table of ["job", "archive"])
          await boss.getDb().executeSql(`DELETE FROM ${schema}.${table} WHERE name = $1`, [queue]);
        free.push(queue);
      },
    };
  }

  async function close(): Promise<void> {
    await boss.stop({ graceful: false, close: true, wait: true });
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
    await client.end();
  }
  return { open, close };
}

/** BullMQ under a prefix of this process's own, with a queue for each run. */
async function onBullmq(): Promise<{ open: Open; close(): Promise<void> }> {
  const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
  redis.on("error", () => {}); // told by connect
  await redis.connect();
  const prefix = `unknown-service-${randomUUID()}`;
  let queues = 0;

  async function open(options: ConsumerOptions): Promise<Consumer> {
    const name = `events-${++queues}`;
    const queue = new Queue(name, { prefix, connection: { url: redisUrl, enableOfflineQueue: false } });
    queue.on("error", () => {});
    const inbox = await bullmqInbox(queue, { attempts: 1, log: () => {} }); // the log is about Redis's settings
    const { beliefs, handle } = handling();
    const worker = new Worker(name, inboxHandler(handle, { log: options.log }), {
      prefix,
      connection: { url: redisUrl },
    });
    worker.on("error", () => {});
    return {
      name: "BullMQ",
      beliefs,
      receive: receiving(options, inbox),
      settled: () => emptied(inbox),
      dead: () => deadOf(inbox),
      async close() {
        await worker.close(true);
        await queue.obliterate({ force: true });
        await queue.close();
      },
    };
  }

  async function close(): Promise<void> {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(keys);
    redis.disconnect();
  }
  return { open, close };
}

/** Without a PostgreSQL or a Redis their inboxes are left out, loudly; the gate, which sets LOYALTY_CARDS_SERVERS, has both. */
export async function openEngines(): Promise<Engines> {
  const servers: { name: string; open: Open; close(): Promise<void> }[] = [];
  for (const [name, start] of Object.entries({ "pg-boss": onPgBoss, BullMQ: onBullmq })) {
    try {
      servers.push({ name, ...(await start()) });
    } catch (error) {
      if (process.env["LOYALTY_CARDS_SERVERS"] === "required") throw error;
      console.error(`SKIPPED: the inbox on ${name}, because its server cannot be reached.`);
    }
  }
  return {
    names: ["accept", "SQLite", ...servers.map(({ name }) => name)],
    open: async (options) => [
      accepting(options),
      inSqlite(options),
      ...(await Promise.all(servers.map(({ open }) => open(options)))),
    ],
    async close() {
      await Promise.all(servers.map(({ close }) => close()));
    },
  };
}

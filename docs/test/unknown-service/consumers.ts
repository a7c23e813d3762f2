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
} from "../../../packages/webhook-inbox/src/index.ts";
import { fetchReceiver } from "../../../packages/webhook-verify/src/adapters/fetch.ts";
import {
  type EventHandlers,
  type Inbox,
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
  type WebhookEvent,
} from "../../../packages/webhook-verify/src/index.ts";

const databaseUrl = process.env["DATABASE_URL"] ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** Concurrent runs: a run mostly waits for disks and servers. */
export const concurrentRuns = 4;

/** What a program has stored from its webhooks: the newest event of each card or customer wins. */
export interface Stored {
  /** The ids of the processed events, one entry per time. */
  handled: string[];
  /** The types of the events that went to the handler `unexpectedData`. */
  unexpectedData: string[];
  /** The types of the events that went to the handler `otherTypes`. */
  otherTypes: string[];
  balances: Map<string, number>;
  tiers: Map<string, unknown>;
  consents: Map<string, unknown>;
  /** The order of an event is unknown, so the program would have to read the card. */
  hasGaps: boolean;
}

export interface Consumer {
  name: string;
  stored: Stored;
  receive(request: Request): Promise<Response>;
  /** Resolves when the handler of each stored event has ended. */
  settled(): Promise<void>;
  /** The ids of the dead letters. */
  dead(): Promise<string[]>;
  close(): Promise<void>;
}

type ConsumerOptions = Pick<ReceiverOptions, "secret" | "toleranceSeconds"> & { log(line: string): void };

export interface Engines {
  names: string[];
  open(options: ConsumerOptions): Promise<Consumer[]>;
  close(): Promise<void>;
}

function createHandler({ log }: ConsumerOptions) {
  const stored: Stored = {
    handled: [],
    unexpectedData: [],
    otherTypes: [],
    balances: new Map(),
    tiers: new Map(),
    consents: new Map(),
    hasGaps: false,
  };
  const newest = new Map<string, [createdAtMs: number, id: string]>();

  function isNewest(key: string, { id, createdAt }: WebhookEvent): boolean {
    const atMs = Date.parse(createdAt);
    if (Number.isNaN(atMs)) stored.hasGaps = true;
    const [newestMs, newestId] = newest.get(key) ?? [Number.NEGATIVE_INFINITY, ""];
    if (Number.isNaN(atMs) || atMs < newestMs || (atMs === newestMs && id <= newestId)) return false;
    newest.set(key, [atMs, id]);
    return true;
  }

  const handlers: EventHandlers = {
    "card.added": () => {},
    "card.removed": () => {},
    "balance.changed": (event) => {
      const { passId, balance } = event.data;
      if (isNewest(`balance ${passId}`, event)) stored.balances.set(passId, balance);
    },
    "tier.changed": (event) => {
      const { passId, tier } = event.data;
      if (isNewest(`tier ${passId}`, event)) stored.tiers.set(passId, tier);
    },
    "consent.changed": (event) => {
      const { passIds, marketingConsent } = event.data;
      for (const passId of passIds) {
        if (isNewest(`consent ${passId}`, event)) stored.consents.set(passId, marketingConsent);
      }
    },
    ping: () => {},
    unexpectedData: ({ type }) => {
      stored.unexpectedData.push(type);
    },
    otherTypes: ({ type }) => {
      stored.otherTypes.push(type);
    },
  };
  const handle = onEvents(handlers, { log });
  return {
    stored,
    handle: async (event: WebhookEvent, delivery: Parameters<typeof handle>[1]) => {
      await handle(event, delivery);
      stored.handled.push(event.id);
    },
  };
}

function createDirectConsumer(options: ConsumerOptions): Consumer {
  const { stored, handle } = createHandler(options);
  return {
    name: "handler",
    stored,
    receive: fetchReceiver({ ...options, handler: handle, dedupe: memoryDedupe() }),
    settled: async () => {},
    dead: async () => [],
    close: async () => {},
  };
}

/** Waits until the inbox holds nothing that waits. */
async function waitUntilEmpty(
  inbox: InspectableInbox,
  work: () => Promise<void> = () => pause(5),
): Promise<void> {
  for (;;) {
    const { isReachable, waiting } = await inbox.health();
    if (!isReachable) throw new Error("The inbox cannot be reached.");
    if (waiting === 0) return;
    await work();
  }
}

const listDead = async (inbox: InspectableInbox) => (await inbox.list({ state: "dead" })).map(({ id }) => id);

function createReceiver(options: ConsumerOptions, inbox: Inbox): Consumer["receive"] {
  return fetchReceiver({ ...options, inbox });
}

function openSqlite(options: ConsumerOptions): Consumer {
  const folder = mkdtempSync(join(tmpdir(), "unknown-service-"));
  const inbox = sqliteInbox({ file: join(folder, "inbox.db"), log: options.log });
  const { stored, handle } = createHandler(options);
  inbox.work(handle, { concurrency: 16, maxAttempts: 2, backoff: { initialDelayMs: 0 } });
  return {
    name: "SQLite",
    stored,
    receive: createReceiver(options, inbox),
    settled: () => waitUntilEmpty(inbox),
    dead: () => listDead(inbox),
    async close() {
      await inbox.close({ graceMs: 0 });
      rmSync(folder, { recursive: true });
    },
  };
}

type Open = (options: ConsumerOptions) => Promise<Consumer>;

/** pg-boss in a schema of this process's own, with a queue for each run. */
async function openPgBoss(): Promise<{ open: Open; close(): Promise<void> }> {
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
  const free = Array.from({ length: concurrentRuns }, (_, index) => `events-${index}`);
  for (const queue of free) await boss.createQueue(queue);

  async function open(options: ConsumerOptions): Promise<Consumer> {
    const queue = free.pop();
    if (queue === undefined) throw new Error(`There are queues for ${concurrentRuns} runs at once.`);
    const inbox = await pgBossInbox(boss, { queue, log: options.log });
    const { stored, handle } = createHandler(options);
    const work = inboxHandler(handle, { log: options.log });
    return {
      name: "pg-boss",
      stored,
      receive: createReceiver(options, inbox),
      settled: () =>
        waitUntilEmpty(inbox, async () => {
          // Fetched here, because a worker of pg-boss looks no more often than every half second.
          const jobs = (await boss.fetch(queue, { batchSize: 100 })) ?? [];
          await work(jobs);
          await boss.complete(
            queue,
            jobs.map(({ id }) => id),
          );
        }),
      dead: () => listDead(inbox),
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
async function openBullmq(): Promise<{ open: Open; close(): Promise<void> }> {
  const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
  redis.on("error", () => {}); // reported by connect
  await redis.connect();
  const prefix = `unknown-service-${randomUUID()}`;
  let queues = 0;

  async function open(options: ConsumerOptions): Promise<Consumer> {
    const name = `events-${++queues}`;
    const queue = new Queue(name, { prefix, connection: { url: redisUrl, enableOfflineQueue: false } });
    queue.on("error", () => {});
    const inbox = await bullmqInbox(queue, { maxAttempts: 1, log: () => {} }); // the log is about Redis's settings
    const { stored, handle } = createHandler(options);
    const worker = new Worker(name, inboxHandler(handle, { log: options.log }), {
      prefix,
      connection: { url: redisUrl },
    });
    worker.on("error", () => {});
    return {
      name: "BullMQ",
      stored,
      receive: createReceiver(options, inbox),
      settled: () => waitUntilEmpty(inbox),
      dead: () => listDead(inbox),
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
  for (const [name, start] of Object.entries({ "pg-boss": openPgBoss, BullMQ: openBullmq })) {
    try {
      servers.push({ name, ...(await start()) });
    } catch (error) {
      if (process.env["LOYALTY_CARDS_SERVERS"] === "required") throw error;
      console.error(`SKIPPED: the inbox on ${name}, because its server cannot be reached.`);
    }
  }
  return {
    names: ["handler", "SQLite", ...servers.map(({ name }) => name)],
    open: async (options) => [
      createDirectConsumer(options),
      openSqlite(options),
      ...(await Promise.all(servers.map(({ open }) => open(options)))),
    ],
    async close() {
      await Promise.all(servers.map(({ close }) => close()));
    },
  };
}

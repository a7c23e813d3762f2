/** The programs that receive the webhooks of a case: one with a handler before the response, and one for each inbox. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Queue, Worker } from "bullmq";
import PgBoss from "pg-boss";
import { afterAll, beforeAll } from "vitest";
import {
  bullmqInbox,
  type InspectableInbox,
  inboxHandler,
  pgBossInbox,
  sqliteInbox,
} from "../../packages/webhook-inbox/src/index.ts";
import { hasPostgres, hasRedis, ownPrefix, ownSchema } from "../../packages/webhook-inbox/test/servers.ts";
import { fetchReceiver } from "../../packages/webhook-verify/src/adapters/fetch.ts";
import {
  type Inbox,
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
  type WebhookEvent,
} from "../../packages/webhook-verify/src/index.ts";

/** Concurrent runs: a run mostly waits for disks and servers. */
export const concurrentRuns = 4;

/** What a program has stored: of each card's balance, tier and consent the newest value. */
interface Stored {
  /** The ids of the processed events, one entry per time. */
  handled: string[];
  /** The types of the events that went to these handlers. */
  unexpectedData: Set<string>;
  otherTypes: Set<string>;
  /** By event type and card, such as `balance.changed card_1`. */
  values: Map<string, unknown>;
  /** The order of an event is unknown, so the program would have to read the card. */
  hasGaps: boolean;
}

export interface Receiver {
  name: string;
  stored: Stored;
  receive(request: Request): Promise<Response>;
  /** Resolves with the ids of the dead letters when no event waits. */
  settle(): Promise<string[]>;
  close(): Promise<unknown>;
}

type Options = Pick<ReceiverOptions, "secret" | "toleranceSeconds"> & { log(line: string): void };
type Handle = ReturnType<typeof onEvents>;

interface OpenInbox {
  inbox: Inbox & InspectableInbox;
  /** Processes waiting events, where no worker does. */
  work?(): Promise<unknown>;
  close(): Promise<unknown>;
}

interface Engine {
  name: string;
  open(handle: Handle, log: Options["log"]): Promise<OpenInbox>;
}

function createHandler(log: Options["log"]): { stored: Stored; handle: Handle } {
  const stored: Stored = {
    handled: [],
    unexpectedData: new Set(),
    otherTypes: new Set(),
    values: new Map(),
    hasGaps: false,
  };
  const newest = new Map<string, [createdAtMs: number, id: string]>();

  function store({ id, type, createdAt }: WebhookEvent, passId: string, value: unknown): void {
    const key = `${type} ${passId}`;
    const atMs = Date.parse(createdAt);
    if (Number.isNaN(atMs)) stored.hasGaps = true;
    const [newestMs, newestId] = newest.get(key) ?? [Number.NEGATIVE_INFINITY, ""];
    if (Number.isNaN(atMs) || atMs < newestMs || (atMs === newestMs && id <= newestId)) return;
    newest.set(key, [atMs, id]);
    stored.values.set(key, value);
  }

  const handle = onEvents(
    {
      "card.added": () => {},
      "card.removed": () => {},
      "balance.changed": (event) => store(event, event.data.passId, event.data.balance),
      "tier.changed": (event) => store(event, event.data.passId, event.data.tier),
      "consent.changed": (event) => {
        for (const passId of event.data.passIds) store(event, passId, event.data.marketingConsent);
      },
      ping: () => {},
      unexpectedData: ({ type }) => stored.unexpectedData.add(type),
      otherTypes: ({ type }) => stored.otherTypes.add(type),
    },
    { log },
  );
  return {
    stored,
    async handle(event, delivery) {
      await handle(event, delivery);
      stored.handled.push(event.id);
    },
  };
}

function openDirect(options: Options): Receiver {
  const { stored, handle } = createHandler(options.log);
  return {
    name: "handler",
    stored,
    receive: fetchReceiver({ ...options, handler: handle, dedupe: memoryDedupe() }),
    settle: async () => [],
    close: async () => {},
  };
}

async function openWithInbox({ name, open }: Engine, options: Options): Promise<Receiver> {
  const { stored, handle } = createHandler(options.log);
  const { inbox, work = () => pause(5), close } = await open(handle, options.log);
  return {
    name,
    stored,
    receive: fetchReceiver({ ...options, inbox }),
    async settle() {
      for (;;) {
        const { isReachable, waiting } = await inbox.health();
        if (!isReachable) throw new Error("The inbox cannot be reached.");
        if (waiting === 0) return (await inbox.list({ state: "dead" })).map(({ id }) => id);
        await work();
      }
    },
    close,
  };
}

const sqlite: Engine = {
  name: "SQLite",
  async open(handle, log) {
    const folder = mkdtempSync(join(tmpdir(), "unknown-service-"));
    const inbox = sqliteInbox({ file: join(folder, "inbox.db"), log });
    inbox.work(handle, { concurrency: 16, maxAttempts: 2, backoff: { initialDelayMs: 0 } });
    const close = async () => {
      await inbox.close({ graceMs: 0 });
      rmSync(folder, { recursive: true });
    };
    return { inbox, close };
  },
};

/** A queue for each concurrent run. */
function usePgBoss(): Engine {
  const { schema, url } = ownSchema();
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false, max: 4 });
  boss.on("error", () => {}); // rejects what was asked for, too
  const free = Array.from({ length: concurrentRuns }, (_, index) => `events-${index}`);
  beforeAll(async () => {
    await boss.start();
    // A queue is a partition, and creating one while jobs are stored is a deadlock.
    for (const queue of free) await boss.createQueue(queue);
  });
  afterAll(() => boss.stop({ graceful: false, close: true, wait: true }));
  return {
    name: "pg-boss",
    async open(handle, log) {
      const queue = free.pop();
      if (queue === undefined) throw new Error(`There are queues for ${concurrentRuns} runs at once.`);
      const process = inboxHandler(handle, { log });
      return {
        inbox: await pgBossInbox(boss, { queue, log }),
        // A worker of pg-boss would look no more often than every half second.
        async work() {
          const jobs = (await boss.fetch(queue, { batchSize: 100 })) ?? [];
          await process(jobs);
          const ids = jobs.map(({ id }) => id);
          await boss.complete(queue, ids);
        },
        async close() {
          for (const table of ["job", "archive"])
            await boss.getDb().executeSql(`DELETE FROM ${schema}.${table} WHERE name = $1`, [queue]);
          free.push(queue);
        },
      };
    },
  };
}

/** A queue for each run. */
function useBullmq(): Engine {
  const { prefix, url } = ownPrefix();
  let queues = 0;
  return {
    name: "BullMQ",
    async open(handle, log) {
      const name = `events-${++queues}`;
      const queue = new Queue(name, { prefix, connection: { url, enableOfflineQueue: false } });
      const worker = new Worker(name, inboxHandler(handle, { log }), { prefix, connection: { url } });
      queue.on("error", () => {});
      worker.on("error", () => {});
      return {
        inbox: await bullmqInbox(queue, { attempts: 1, log: () => {} }), // the log is about Redis's settings
        async close() {
          await worker.close(true);
          await queue.obliterate({ force: true });
          await queue.close();
        },
      };
    },
  };
}

/** Opens the programs of one run. */
export type OpenReceivers = (options: Options) => Promise<Receiver[]>;

/** The programs for the tests of a file. Without a PostgreSQL or a Redis their inboxes are left out, loudly. */
export async function useReceivers(): Promise<OpenReceivers> {
  const engines = [sqlite];
  if (await hasPostgres()) engines.push(usePgBoss());
  if (await hasRedis()) engines.push(useBullmq());
  return (options) =>
    Promise.all([openDirect(options), ...engines.map((engine) => openWithInbox(engine, options))]);
}

/** The programs that receive the webhooks of a case: one with a handler before the response, and one for each inbox. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Queue, Worker } from "bullmq";
import { PgBoss } from "pg-boss";
import { afterAll, beforeAll } from "vitest";
import {
  bullmqInbox,
  type InspectableInbox,
  inboxHandler,
  pgBossInbox,
  sqliteInbox,
} from "../../packages/webhook-inbox/src/index.ts";
import { hasPgBoss, hasRedis, ownPrefix, ownSchema } from "../../packages/webhook-inbox/test/servers.ts";
import { fetchReceiver } from "../../packages/webhook-verify/src/adapters/fetch.ts";
import * as verify from "../../packages/webhook-verify/src/index.ts";

/** Concurrent runs: a run mostly waits for disks and servers. */
export const concurrentRuns = 4;

type Options = Pick<verify.ReceiverOptions, "secret" | "toleranceSeconds"> & { log(line: string): void };
type Handle = ReturnType<typeof verify.onEvents>;

export type Receiver = ReturnType<typeof createReceiver>;

interface OpenInbox {
  inbox?: verify.Inbox & InspectableInbox;
  /** Processes waiting events, where no worker does. */
  work?(): Promise<unknown>;
  close?(): Promise<unknown>;
}
type OpenEngine = (handle: Handle, log: Options["log"]) => Promise<OpenInbox>;

/** What a program stores: of each card's balance, tier and consent the newest value. */
function createHandler(log: Options["log"]) {
  const stored = {
    /** The ids of the processed events, one entry per time. */
    handled: [] as string[],
    /** The types of the events that went to these handlers. */
    unexpectedData: new Set<string>(),
    otherTypes: new Set<string>(),
    /** By event type and card, such as `balance.changed card_1`. */
    values: new Map<string, { atMs: number; id: string; value: unknown }>(),
    /** The order of an event is unknown, so the program would have to read the card. */
    hasGaps: false,
  };

  function store({ id, type, createdAt }: verify.WebhookEvent, passId: string, value: unknown): void {
    const atMs = Date.parse(createdAt);
    if (Number.isNaN(atMs)) stored.hasGaps = true;
    const last = stored.values.get(`${type} ${passId}`);
    const isNewest = last === undefined || atMs > last.atMs || (atMs === last.atMs && id > last.id);
    if (isNewest) stored.values.set(`${type} ${passId}`, { atMs, id, value });
  }

  const handleByType = verify.onEvents(
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
  const handle: Handle = async (event, delivery) => {
    await handleByType(event, delivery);
    stored.handled.push(event.id);
  };
  return { stored, handle };
}

function createReceiver(
  name: string,
  options: verify.ReceiverOptions,
  { stored }: ReturnType<typeof createHandler>,
  { inbox, work = () => pause(5), close = async () => {} }: OpenInbox = {},
) {
  /** Resolves with the ids of the dead letters when no event waits. */
  async function settle(): Promise<string[]> {
    for (;;) {
      const { isReachable, waiting } = (await inbox?.health()) ?? { isReachable: true, waiting: 0 };
      if (!isReachable) throw new Error("The inbox cannot be reached.");
      if (waiting === 0) return ((await inbox?.list({ state: "dead" })) ?? []).map(({ id }) => id);
      await work();
    }
  }
  return { name, stored, settle, close, receive: fetchReceiver(inbox ? { ...options, inbox } : options) };
}

const openSqlite: OpenEngine = async (handle, log) => {
  const folder = mkdtempSync(join(tmpdir(), "unknown-service-"));
  const inbox = sqliteInbox({ file: join(folder, "inbox.db"), log });
  inbox.work(handle, { concurrency: 16, maxAttempts: 2, backoff: { initialDelayMs: 0 } });
  const close = async () => {
    await inbox.close({ graceMs: 0 });
    rmSync(folder, { recursive: true });
  };
  return { inbox, close };
};

/** A queue for each concurrent run. */
function usePgBoss(): OpenEngine {
  const { schema, url } = ownSchema();
  const boss = new PgBoss({ connectionString: url, schema, supervise: false, schedule: false, max: 4 });
  boss.on("error", () => {}); // rejects what was asked for, too
  const free = Array.from({ length: concurrentRuns }, (_, index) => `events-${index}`);
  beforeAll(async () => {
    await boss.start();
    // A queue is a partition, and creating one while jobs are stored is a deadlock.
    for (const queue of free) await boss.createQueue(queue);
  });
  afterAll(() => boss.stop({ graceful: false }));
  return async (handle, log) => {
    const queue = free.pop();
    if (queue === undefined) throw new Error(`There are queues for ${concurrentRuns} runs at once.`);
    const process = inboxHandler(handle, { log });
    /** A worker of pg-boss would look no more often than every half second. */
    async function work(): Promise<void> {
      const jobs = (await boss.fetch(queue as string, { batchSize: 100 })) ?? [];
      await process(jobs);
      const ids = jobs.map(({ id }) => id);
      await boss.complete(queue as string, ids);
    }
    async function close(): Promise<void> {
      await boss.getDb().executeSql(`DELETE FROM ${schema}.job WHERE name = $1`, [queue]);
      free.push(queue as string);
    }
    return { inbox: await pgBossInbox(boss, { queue, log }), work, close };
  };
}

/** A queue for each run. */
function useBullmq(): OpenEngine {
  const { prefix, url } = ownPrefix();
  let queues = 0;
  return async (handle, log) => {
    const name = `events-${++queues}`;
    const queue = new Queue(name, { prefix, connection: { url, enableOfflineQueue: false } });
    const worker = new Worker(name, inboxHandler(handle, { log }), { prefix, connection: { url } });
    queue.on("error", () => {});
    worker.on("error", () => {});
    const close = async () => {
      await worker.close(true);
      await queue.obliterate({ force: true });
      await queue.close();
    };
    return { inbox: await bullmqInbox(queue, { maxAttempts: 1, log: () => {} }), close }; // the log is about Redis's settings
  };
}

/** Opens the programs of one run. */
export type OpenReceivers = (options: Options) => Promise<Receiver[]>;

/** The programs for the tests of a file. Without a PostgreSQL or a Redis their inboxes are left out, loudly. */
export async function useReceivers(): Promise<OpenReceivers> {
  const engines: [name: string, open: OpenEngine][] = [["SQLite", openSqlite]];
  if (await hasPgBoss()) engines.push(["pg-boss", usePgBoss()]);
  if (await hasRedis()) engines.push(["BullMQ", useBullmq()]);
  return async (options) => {
    const direct = createHandler(options.log);
    const withHandler = { ...options, handler: direct.handle, dedupe: verify.memoryDedupe() };
    const withInbox = engines.map(async ([name, open]) => {
      const handler = createHandler(options.log);
      return createReceiver(name, options, handler, await open(handler.handle, options.log));
    });
    return [createReceiver("handler", withHandler, direct), ...(await Promise.all(withInbox))];
  };
}

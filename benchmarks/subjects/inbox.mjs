/** Storing events, beside single INSERTs on the same engine; the response time under load; and how the costs grow. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEvent } from "../by-hand.mjs";
import { perCall, startModule, startTimers } from "../measure.mjs";

const databaseUrl = process.env.DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const redisUrl = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const secret = "whsec_1";
const connections = 16;
const floor = "INSERT + commit";
const sizes = [1e3, 1e4, 1e5, 1e6];
const of = (engine, atATime, calls, more) => ({
  name: `${engine}, ${atATime} at a time`,
  engine,
  atATime,
  calls,
  ...more,
});
const growth = (engine) => ({ name: `${engine}, more waiting events`, unit: "events", x: sizes, engine });

export default {
  title: "Storing webhooks",
  question: "How long does it take until an event is durable, and does that depend on how many events wait?",
  notes: `The \`INSERT\` is \`ON CONFLICT DO NOTHING RETURNING id\` in a transaction of its own. PostgreSQL: ${connections} connections each, pg-boss 10. Redis: the append-only file is
off, and its floor is \`add\` of BullMQ, because a plain \`SET\` does not create a job. Response times: 500 deliveries a second from another process; pauses of the disk are in the \`INSERT\` of PostgreSQL too.

*Until the effect*: 2 000 events, from the first one stored, 64 at a time, to the last one handled; the \`INSERT\` has no worker. pg-boss looks
for jobs every 0.5 seconds.

Growth: *put* is the time per event, 64 at a time; *worker* the time per event that the engine's worker handles. pg-boss 10 sorts all waiting jobs each time it fetches some.`,
  figures: {
    time: { label: "time per event", unit: "µs" },
    cpu: { label: "processor time per event in this process", unit: "µs", plot: false },
    p50: { label: "median response time", unit: "ms", compare: "none" },
    p99: { label: "99th percentile of the response time", unit: "ms", compare: "none" },
  },
  floor,
  own: ["pgBossInbox", "sqliteInbox", "bullmqInbox", "put", "worker"],
  panels: [
    of("PostgreSQL", 1, 300),
    of("PostgreSQL", 16, 1_600),
    of("PostgreSQL", 64, 3_200),
    of("SQLite", 1, 200),
    of("SQLite", 64, 3_200),
    of("Redis", 16, 1_600, { floor: "BullMQ add" }),
    ...["PostgreSQL", "SQLite", "Redis"].map((engine) => ({
      name: `${engine}, until the effect`,
      engine,
      effects: 2_000,
      floor: { PostgreSQL: floor, SQLite: floor, Redis: "BullMQ add" }[engine],
      starts: 2,
    })),
    {
      name: "Response time at 500 deliveries a second",
      engine: "receivers",
      starts: 1,
      rounds: 5,
      warmUps: 0,
    },
  ],
  growth: ["SQLite", "PostgreSQL", "Redis"].map(growth),
  packages: ["pg-boss", "bullmq", "pg", "libsql"],
  starts: 3,
  rounds: 9,
  async open({ engine, atATime, calls, effects, x }) {
    if (engine === "receivers") return openReceivers();
    const { put, others, workers, fill, work, close } = await engines[engine]();
    if (effects !== undefined)
      return { variants: toEffects({ [put.name]: put, ...others }, workers, effects), close };
    if (x === undefined) {
      const subjects = { [put.name]: put, ...others };
      for (const call of Object.values(subjects)) await perCall(call, 2_000, 16); // compiles, connects and plans
      const run = (call) => () => perCall(call, calls, atATime);
      return {
        variants: Object.fromEntries(Object.entries(subjects).map(([name, call]) => [name, run(call)])),
        close,
      };
    }
    await perCall(put, 500, 16);
    await fill(x - 500);
    return { variants: { put: () => perCall(put, 1_000, 64), worker: () => work(500) }, close };
  },
};

let counter = 0;
const createNextEvent = () => createEvent(`evt_${counter++}`);
const toPut = (name, inbox) => {
  const put = async () => {
    const event = createNextEvent();
    const body = new TextEncoder().encode(JSON.stringify(event));
    await inbox.put(event, { body, receivedAt: new Date() }, { signal: new AbortController().signal });
  };
  return Object.defineProperty(put, "name", { value: name });
};

/** From the first event stored, 64 at a time, to the last one handled. A variant without a worker only stores. */
function toEffects(calls, workers, count) {
  const run = (call, startWorker) => async () => {
    if (startWorker === undefined) return perCall(call, count, 64);
    return handled(count, (handler) => {
      const stop = startWorker(handler);
      perCall(call, count, 64);
      return stop;
    });
  };
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, run(call, workers[name])]));
}

/** Runs `start` with a handler, until it was called `count` times. @returns the time per event */
async function handled(count, start) {
  const stopTimers = startTimers();
  let stop;
  await new Promise((resolve) => {
    let left = count;
    stop = start(() => {
      left -= 1;
      if (left === 0) resolve();
    });
  });
  const figures = stopTimers(count);
  await (await stop)?.();
  return figures;
}

const engines = {
  async SQLite() {
    const { openLibsql, sqliteInbox } = await import("@loyalty-cards/webhook-inbox");
    const folder = mkdtempSync(join(tmpdir(), "benchmark-inbox-"));
    const sqlite = process.getBuiltinModule("node:sqlite");
    const file = join(folder, "inbox.db");
    const inbox = sqliteInbox({ file, log: () => {} });
    const bare = sqlite === undefined ? openLibsql(file) : new sqlite.DatabaseSync(file);
    bare.exec(
      "PRAGMA synchronous = FULL; CREATE TABLE bare (id TEXT PRIMARY KEY, type TEXT, body TEXT, at INTEGER)",
    );
    const startWorker = (handler) => {
      const worker = inbox.work(handler);
      return () => worker.stop();
    };
    const insert = bare.prepare("INSERT INTO bare VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id");
    return {
      put: toPut("sqliteInbox", inbox),
      inbox,
      others: {
        [floor]: async () => {
          const event = createNextEvent();
          insert.get(event.id, event.type, JSON.stringify(event), Date.now());
        },
      },
      fill: (count) =>
        inbox.write((database) =>
          database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
            INSERT INTO webhook_inbox_events (id, type, body, received_at, due_at) SELECT 'evt_w' || i, 'balance.changed',
              json_object('id', 'evt_w' || i, 'type', 'balance.changed', 'data', hex(zeroblob(100))), i, i FROM n`),
        ),
      work: (count) => handled(count, startWorker),
      workers: { sqliteInbox: startWorker },
      async close() {
        bare.close();
        await inbox.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  async PostgreSQL() {
    const { inboxHandler, pgBossInbox } = await import("@loyalty-cards/webhook-inbox");
    const { PgBoss } = await import("pg-boss"); // needs Node.js 22.12
    const { default: pg } = await import("pg");
    const schema = `benchmark_${randomUUID().replaceAll("-", "")}`;
    const options = `-c search_path=${schema}`;
    const pool = new pg.Pool({ connectionString: databaseUrl, options, max: connections });
    const boss = new PgBoss({
      connectionString: databaseUrl,
      schema,
      max: connections,
      supervise: false,
      schedule: false,
    });
    await boss.start();
    await boss.createQueue("events");
    await boss.createQueue("sent");
    const startWorker = (queue, batchSize, handler) => {
      boss.work(queue, { pollingIntervalSeconds: 0.5, batchSize }, handler);
      return () => boss.offWork(queue);
    };
    await pool.query("CREATE TABLE bare (id text PRIMARY KEY, type text, body jsonb, at timestamptz)");
    const inbox = await pgBossInbox(boss, { queue: "events" });
    return {
      put: toPut("pgBossInbox", inbox),
      inbox,
      others: {
        [floor]: (event = createNextEvent()) => {
          return pool.query(
            "INSERT INTO bare VALUES ($1, $2, $3, now()) ON CONFLICT DO NOTHING RETURNING id",
            [event.id, event.type, JSON.stringify(event)],
          );
        },
        "pg-boss send": () => boss.send("sent", createNextEvent()),
      },
      async fill(count) {
        await pool.query(
          `INSERT INTO job (id, name, data, retry_limit, policy) SELECT gen_random_uuid(), 'events', jsonb_build_object('receivedAt', '2026-01-01T00:00:00Z',
            'body', json_build_object('id', 'evt_w' || i, 'type', 'balance.changed', 'data', repeat('0', 200))::text), 16, 'standard' FROM generate_series(1, $1) i`,
          [count],
        );
        await pool.query("ANALYZE job");
      },
      work: (count) => handled(count, (handler) => startWorker("events", count, inboxHandler(handler))),
      workers: {
        pgBossInbox: (handler) => startWorker("events", 1_000, inboxHandler(handler)),
        "pg-boss send": (handler) => startWorker("sent", 1_000, async (jobs) => jobs.forEach(handler)),
      },
      async close() {
        await boss.stop({ graceful: false });
        await pool.query(`DROP SCHEMA ${schema} CASCADE`);
        await pool.end();
      },
    };
  },
  async Redis() {
    const { bullmqInbox, inboxHandler } = await import("@loyalty-cards/webhook-inbox");
    const { Queue, Worker } = await import("bullmq");
    const prefix = `benchmark-${randomUUID()}`;
    const connection = { url: redisUrl, enableOfflineQueue: false };
    const queue = new Queue("events", { prefix, connection });
    const sent = new Queue("sent", { prefix, connection });
    const startWorker = (name, handler) => {
      const worker = new Worker(name, handler, { prefix, connection: { url: redisUrl }, concurrency: 16 });
      return () => worker.close(true);
    };
    const inbox = await bullmqInbox(queue, { log: () => {} });
    return {
      put: toPut("bullmqInbox", inbox),
      inbox,
      others: { "BullMQ add": () => sent.add("balance.changed", createNextEvent()) },
      async fill(count) {
        for (let left = count; left > 0; left -= 5_000) {
          const body = JSON.stringify(createNextEvent());
          const data = { body, receivedAt: new Date().toISOString() };
          await queue.addBulk(
            Array.from({ length: Math.min(left, 5_000) }, () => ({ name: "balance.changed", data })),
          );
        }
      },
      work: (count) => handled(count, (handler) => startWorker("events", inboxHandler(handler))),
      workers: {
        bullmqInbox: (handler) => startWorker("events", inboxHandler(handler)),
        "BullMQ add": (handler) => startWorker("sent", async (job) => handler(job.data)),
      },
      async close() {
        for (const each of [queue, sent]) {
          await each.obliterate({ force: true, count: 10_000 });
          await each.close();
        }
      },
    };
  },
};

async function openReceivers() {
  const { nodeReceiver } = await import("@loyalty-cards/webhook-verify/node");
  const opened = [await engines.SQLite(), await engines.PostgreSQL(), await engines.Redis()];
  const bare = opened[1].others[floor];
  const receivers = [
    ["nothing stored", { handler() {} }],
    [`${floor} in PostgreSQL`, { inbox: { put: (event) => bare(event).then(() => "stored") } }],
    ...opened.map(({ put, inbox }) => [put.name, { inbox }]),
  ];
  const run = (name, options) => async () => {
    const server = createServer(nodeReceiver({ secret, ...options }));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const sender = new URL("../steady-sender.mjs", import.meta.url);
    const { message } = await startModule(sender, [server.address().port, secret, name + randomUUID()]);
    server.close();
    server.closeAllConnections();
    return message;
  };
  return {
    variants: Object.fromEntries(receivers.map(([name, options]) => [name, run(name, options)])),
    close: () => Promise.all(opened.map(({ close }) => close())),
  };
}

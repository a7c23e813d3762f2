/** Durable receipt beside bare inserts on the same engine, and beside a receiver that stores nothing. */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bullmqInbox, openLibsql, pgBossInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import PgBoss from "pg-boss";
import { median } from "./measure.mjs";

const rounds = 25;
const databaseUrl = process.env.DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const redisUrl = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const sqlite = process.getBuiltinModule("node:sqlite");
const open = sqlite === undefined ? openLibsql : (file) => new sqlite.DatabaseSync(file);

let counter = 0;
function event() {
  counter += 1;
  const data = {
    passId: "card_1",
    customerId: "cus_1",
    balance: 1,
    change: 1,
    operation: { id: "op_1", type: "purchase" },
  };
  return { id: `evt_${counter}`, type: "balance.changed", createdAt: new Date().toISOString(), data };
}
const toBody = (made) => new TextEncoder().encode(JSON.stringify(made));
const createPut = (inbox) => () => {
  const made = event();
  return inbox.put(
    made,
    { body: toBody(made), receivedAt: new Date() },
    { signal: new AbortController().signal },
  );
};

async function perSecond(calls, concurrency, work) {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await work();
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: concurrency }, caller));
  return (calls / (performance.now() - startedMs)) * 1000;
}

const round = (value) => value.toFixed(value < 10 ? 2 : 0);

/** Medians of short rounds in turn, so that a slow moment slows all of them. */
async function compare(baseline, subjects) {
  const rates = new Map([["baseline", []], ...Object.keys(subjects).map((name) => [name, []])]);
  for (let turn = 0; turn < rounds; turn++) {
    for (const [name, subject] of Object.entries({ baseline, ...subjects }))
      rates.get(name).push(await subject());
  }
  const [[, bare], ...others] = [...rates].map(([name, values]) => [name, median(values)]);
  return others.map(([name, rate]) => `  ${name}: ${round(rate / bare)} times as many`).join("\n");
}

console.log(`Node ${process.versions.node}, medians of ${rounds} rounds`);

// SQLite: the same file, the same durability.
const folder = mkdtempSync(join(tmpdir(), "benchmark-inbox-"));
const inSqlite = sqliteInbox({ file: join(folder, "inbox.db"), log: () => {} });
const bare = open(join(folder, "inbox.db"));
bare.exec(
  "PRAGMA synchronous = FULL; CREATE TABLE bare (id TEXT PRIMARY KEY, type TEXT, body TEXT, received_at INTEGER)",
);
const insert = bare.prepare("INSERT INTO bare VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING");
const bareInsert = async () => {
  const made = event();
  insert.run(made.id, made.type, JSON.stringify(made), Date.now());
};
const oneByOne = () => perSecond(60, 1, bareInsert);
console.log(
  `SQLite (${sqlite === undefined ? "libsql" : "node:sqlite"}), beside sequential bare INSERTs into the same file:`,
);
console.log(
  await compare(oneByOne, {
    "put, one at a time": () => perSecond(60, 1, createPut(inSqlite)),
    "put, 64 at a time": () => perSecond(640, 64, createPut(inSqlite)),
  }),
);

// PostgreSQL: 16 connections each.
const schema = `benchmark_${randomUUID().replaceAll("-", "")}`;
const pool = new pg.Pool({ connectionString: databaseUrl, options: `-c search_path=${schema}`, max: 16 });
await pool.query(`CREATE SCHEMA ${schema}`);
await pool.query("CREATE TABLE bare (id text PRIMARY KEY, type text, body jsonb, received_at timestamptz)");
const boss = new PgBoss({
  connectionString: databaseUrl,
  schema,
  max: 16,
  supervise: false,
  schedule: false,
});
await boss.start();
await boss.createQueue("events");
const inPgBoss = await pgBossInbox(boss, { queue: "events" });
const bareInsertPg = () => {
  const made = event();
  return pool.query("INSERT INTO bare VALUES ($1, $2, $3, now()) ON CONFLICT DO NOTHING RETURNING id", [
    made.id,
    made.type,
    JSON.stringify(made),
  ]);
};
// Warm connections and plans.
await perSecond(480, 16, bareInsertPg);
await perSecond(480, 16, createPut(inPgBoss));
console.log("PostgreSQL, 16 connections, 16 at a time, beside bare INSERTs:");
console.log(
  await compare(() => perSecond(480, 16, bareInsertPg), {
    "put through pg-boss": () => perSecond(480, 16, createPut(inPgBoss)),
  }),
);
console.log("PostgreSQL, 16 connections, 64 at a time, beside bare INSERTs:");
console.log(
  await compare(() => perSecond(960, 64, bareInsertPg), {
    "put through pg-boss": () => perSecond(960, 64, createPut(inPgBoss)),
  }),
);

// The response time at a constant 500 deliveries per second, sent by another process.
const prefix = `benchmark-${randomUUID()}`;
const queue = new Queue("events", { prefix, connection: { url: redisUrl, enableOfflineQueue: false } });
const inBullmq = await bullmqInbox(queue, { log: () => {} });
const secret = "whsec_1";
const receivers = {
  "nothing stored": nodeReceiver({ secret, accept() {} }),
  SQLite: nodeReceiver({ secret, inbox: inSqlite }),
  "pg-boss": nodeReceiver({ secret, inbox: inPgBoss }),
  BullMQ: nodeReceiver({ secret, inbox: inBullmq }),
};
console.log("Response time at 500 deliveries per second, in ms:");
for (const [name, receive] of Object.entries(receivers)) {
  const server = createServer(receive);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sender = fork(fileURLToPath(new URL("steady-sender.mjs", import.meta.url)), [
    String(server.address().port),
    secret,
    name,
  ]);
  const { p50, p99, failed } = await new Promise((resolve) => sender.once("message", resolve));
  console.log(`  ${name}: median ${round(p50)}, p99 ${round(p99)}${failed > 0 ? `, ${failed} failed` : ""}`);
  server.close();
  server.closeAllConnections();
}

await boss.stop({ graceful: false, close: true, wait: true });
await pool.query(`DROP SCHEMA ${schema} CASCADE`);
await pool.end();
await queue.close();
const redis = new Redis(redisUrl);
const keys = await redis.keys(`${prefix}*`);
for (let index = 0; index < keys.length; index += 1_000) await redis.del(keys.slice(index, index + 1_000));
redis.disconnect();
bare.close();
await inSqlite.close();
rmSync(folder, { recursive: true });

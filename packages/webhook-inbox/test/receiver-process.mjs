/**
 * A receiver and its worker in a separate process. Tests start several of them, kill them, and
 * restart them.
 */
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { bullmqInbox, inboxHandler, pgBossInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import * as inPostgres from "@loyalty-cards/webhook-inbox/postgres";
import * as inSqlite from "@loyalty-cards/webhook-inbox/sqlite";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { Queue, Worker } from "bullmq";
import pg from "pg";
import { inTransaction } from "../../../examples/fastify/transaction.ts";

const { engine, port, secret, file, runsFile, databaseUrl, schema, redisUrl, prefix } = JSON.parse(
  process.argv[2],
);
const quiet = { log: () => {} };
const recorded = { stored: 0, duplicate: 0, "not-stored": 0 };
const onOutcome = ({ outcome }) => {
  if (outcome in recorded) recorded[outcome] += 1;
  if (outcome === "done") process.stdout.write("done\n");
};

/**
 * Records the run and waits for a random time, so that a kill can happen before, during or after
 * the effect.
 */
const began = async (event) => {
  appendFileSync(runsFile, `${event.id}\n`);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
};

async function effectInPostgres(pool, event) {
  await began(event);
  await inTransaction(pool, async (transaction) => {
    if (!(await inPostgres.markProcessed(transaction, event))) return;
    await transaction.query("INSERT INTO effects VALUES ($1)", [event.id]);
    const { passId, balance } = event.data;
    if (!(await inPostgres.isNewest(transaction, passId, event))) return;
    const upsert =
      "INSERT INTO balances VALUES ($1, $2) ON CONFLICT (card) DO UPDATE SET balance = $2";
    await transaction.query(upsert, [passId, balance]);
  });
}

function postgresPool() {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${schema}`,
    max: 4,
  });
  return pool.on("error", () => {}); // an idle connection was closed
}

const engines = {
  sqlite() {
    const inbox = sqliteInbox({ file, onOutcome, ...quiet });
    inbox.work(
      async (event, delivery) => {
        await began(event);
        delivery.write((database) => {
          database.prepare("INSERT INTO effects VALUES (?)").run(event.id);
          const { passId, balance } = event.data;
          if (!inSqlite.isNewest(database, passId, event)) return;
          const upsert =
            "INSERT INTO balances VALUES (?, ?) ON CONFLICT (card) DO UPDATE SET balance = excluded.balance";
          database.prepare(upsert).run(passId, balance);
        });
      },
      {
        handlerTimeoutMs: 1_000,
        pollMs: 50,
        maxAttempts: 1_000,
        backoff: { initialDelayMs: 50, maxDelayMs: 200 },
      },
    );
    return { inbox, countWaiting: async () => (await inbox.health()).waiting };
  },
  async "pg-boss"() {
    const { PgBoss } = await import("pg-boss"); // only here, because it needs a newer Node.js than the others
    const intervals = {
      maintenanceIntervalSeconds: 1,
      superviseIntervalSeconds: 1,
      monitorIntervalSeconds: 1,
    };
    const boss = new PgBoss({ connectionString: databaseUrl, schema, max: 4, ...intervals });
    boss.on("error", () => {});
    await boss.start();
    const inbox = await pgBossInbox(boss, {
      queue: "events",
      maxAttempts: 1_000,
      onOutcome,
      ...quiet,
    });
    const pool = postgresPool();
    const handler = inboxHandler((event) => effectInPostgres(pool, event), { onOutcome, ...quiet });
    await boss.work("events", { pollingIntervalSeconds: 0.5, batchSize: 50 }, handler);
    const waiting = "SELECT count(*) FROM job WHERE name = 'events' AND state < 'completed'";
    return { inbox, countWaiting: async () => Number((await pool.query(waiting)).rows[0].count) };
  },
  async bullmq() {
    const queue = new Queue("events", {
      prefix,
      connection: { url: redisUrl, enableOfflineQueue: false },
    });
    queue.on("error", () => {}); // the test also kills Redis
    const inbox = await bullmqInbox(queue, { maxAttempts: 1_000, onOutcome, ...quiet });
    const pool = postgresPool();
    // The job of a killed worker is stalled; by default BullMQ dead-letters a job that stalls
    // twice.
    const settings = {
      concurrency: 4,
      lockDuration: 1_000,
      stalledInterval: 500,
      maxStalledCount: 1_000,
    };
    const handler = inboxHandler((event) => effectInPostgres(pool, event), { onOutcome, ...quiet });
    new Worker("events", handler, { prefix, connection: { url: redisUrl }, ...settings }).on(
      "error",
      () => {},
    );
    return { inbox, countWaiting: () => queue.getJobCountByTypes("active", "waiting", "delayed") };
  },
};

const { inbox, countWaiting } = await engines[engine]();
const receive = nodeReceiver({ secret, inbox, ...quiet });
const server = createServer(async (request, response) => {
  if (request.method === "POST") return receive(request, response);
  response.end(JSON.stringify({ waiting: await countWaiting().catch(() => undefined), recorded }));
});
server.listen(port, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));

/** One of several processes: stores each delivery in pg-boss, and processes each event once. */
import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
import { onEvents, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import fastify, { type FastifyError } from "fastify";
import pg from "pg";
import { PgBoss } from "pg-boss";
import { currentSecrets } from "./secrets.ts";
import { prepare } from "./tables.ts";
import { inTransaction } from "./transaction.ts";

export interface ReceiverSettings
  extends Pick<ReceiverOptions, "now" | "onOutcome" | "testing"> {
  databaseUrl: string;
  /** The schema of pg-boss and of our own tables. */
  schema?: string;
}

const logFailure = ({ name, code }: Error & { code?: string }) =>
  console.error(`PostgreSQL: ${name} ${code}`);

export async function openReceiver(settings: ReceiverSettings) {
  const { databaseUrl, schema = "public", ...options } = settings;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${schema}`,
    max: 8,
  });
  // an idle connection was closed; the pool opens another
  pool.on("error", logFailure);

  const boss = new PgBoss({
    connectionString: databaseUrl,
    ...(schema !== "public" && { schema }),
  });
  // PostgreSQL is not reachable; pg-boss reconnects
  boss.on("error", logFailure);
  await prepare(pool, boss); // starts pg-boss and creates the queue
  const inbox = await pgBossInbox(boss, { queue: "loyalty" });
  const handle = onEvents({
    "balance.changed": (event) =>
      inTransaction(pool, async (transaction) => {
        // was processed before
        if (!(await markProcessed(transaction, event))) return;
        const { passId, balance } = event.data;
        await transaction.query(
          `INSERT INTO members VALUES ($1, 0, 1)
            ON CONFLICT (card) DO UPDATE SET purchases = members.purchases + 1`,
          [passId],
        );
        // a newer balance is stored
        if (!(await isNewest(transaction, `balance of ${passId}`, event))) return;
        await transaction.query("UPDATE members SET balance = $2 WHERE card = $1", [
          passId,
          balance,
        ]);
      }),
    otherTypes: () => {},
  });
  // By default pg-boss takes one job every two seconds. If one job of a batch
  // fails, pg-boss retries the whole batch, and markProcessed skips the events that
  // were processed.
  await boss.work(
    "loyalty",
    { batchSize: 50, pollingIntervalSeconds: 0.5 },
    inboxHandler(handle),
  );

  const app = fastify();
  // The message of PostgreSQL can quote what a visitor entered.
  app.setErrorHandler<FastifyError>((error, { method, routeOptions }, reply) => {
    const { statusCode: status = 500, name, code } = error;
    if (status < 500) return reply.code(status).send({ message: error.message });
    console.error(`${method} ${routeOptions.url}: ${name} ${code}`);
    return reply.code(status).send({ message: "Please try again later." });
  });
  app.register(fastifyReceiver, {
    path: "/webhooks/loyalty",
    secret: () => currentSecrets(pool),
    inbox,
    ...options,
  });
  app.get("/health", async (_request, reply) => {
    const [queue] = await boss.getQueueStats("loyalty"); // rejects without PostgreSQL
    return reply.send({ waiting: queue?.queuedCount, dead: queue?.failedCount });
  });

  return {
    app,
    pool,
    /** Waits for running deliveries and jobs, and accepts no new ones. */
    async close() {
      // The connection of a running request would stay open for another one.
      const closeIdle = () => app.server.closeIdleConnections();
      const timer = setInterval(closeIdle, 100);
      await app.close();
      clearInterval(timer);
      await boss.stop();
      await pool.end();
    },
  };
}

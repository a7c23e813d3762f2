/** A fleet on PostgreSQL: pg-boss keeps the events, and the effect is marked in your own transaction. */
// #region pg-boss
import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
import { ensureTables, isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import type { RequestHandler } from "express";
import type pg from "pg";
import type PgBoss from "pg-boss";

export async function receiveWebhooks(secret: string, boss: PgBoss, pool: pg.Pool): Promise<RequestHandler> {
  await ensureTables(pool); // or run migrations/postgres/*.sql with your own tool
  await boss.createQueue("loyalty");
  const inbox = await pgBossInbox(boss, { queue: "loyalty" }); // rejects here when something is wrong
  await boss.work(
    "loyalty",
    { batchSize: 50, pollingIntervalSeconds: 0.5 }, // by itself pg-boss takes one event every two seconds
    inboxHandler(
      onEvents({
        "balance.changed": (event) =>
          inTransaction(pool, async (client) => {
            if (!(await markProcessed(client, event))) return; // had its effect before
            const { passId, balance } = event.data;
            if (!(await isNewest(client, `balance of ${passId}`, event))) return; // came late
            await client.query("UPDATE users SET balance = $1 WHERE card = $2", [balance, passId]);
          }),
        other: () => {},
      }),
    ),
  );
  return expressReceiver({ secret, inbox });
}

async function inTransaction(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await work(client);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}
// #endregion

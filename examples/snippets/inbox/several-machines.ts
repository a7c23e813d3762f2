/** Several machines: PostgreSQL alone, pg-boss on it, or BullMQ on Redis stores the events. */
// #region postgres-only
import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import type pg from "pg";
import { inTransaction } from "./transaction.ts";

export const handleEvents = (pool: pg.Pool) =>
  onEvents({
    "balance.changed": (event) =>
      inTransaction(pool, async (transaction) => {
        if (!(await markProcessed(transaction, event))) return; // a duplicate
        const { passId, balance } = event.data;
        if (!(await isNewest(transaction, `balance of ${passId}`, event))) return;
        await transaction.query(
          `INSERT INTO balances VALUES ($1, $2)
            ON CONFLICT (card) DO UPDATE SET balance = excluded.balance`,
          [passId, balance],
        );
      }),
    otherTypes: () => {},
  });

export const receiveWithPostgres = (secret: string, pool: pg.Pool) =>
  fetchReceiver({ secret, handler: handleEvents(pool) });

// #endregion

import {
  bullmqInbox,
  inboxHandler,
  pgBossInbox,
  type QueueHandler,
} from "@loyalty-cards/webhook-inbox";
import { ensureInboxTables } from "@loyalty-cards/webhook-inbox/postgres";
import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { Queue, Worker } from "bullmq";
import type { RequestHandler } from "express";
// pg-boss 11: import type PgBoss from "pg-boss";
import type { PgBoss } from "pg-boss";
import postgres from "postgres";
import type { StoreBalance } from "./reconcile.ts";

/** The same effect with postgres.js. */
export const connect = (url: string) =>
  postgres(url, { prepare: false, fetch_types: false });

export const applyBalance = (sql: postgres.Sql, event: BalanceChanged) =>
  sql.begin(async (transaction) => {
    if (!(await markProcessed(transaction, event))) return; // processed before
    const { passId, balance } = event.data;
    if (!(await isNewest(transaction, `balance of ${passId}`, event))) return;
    await transaction`INSERT INTO balances VALUES (${passId}, ${balance})
      ON CONFLICT (card) DO UPDATE SET balance = excluded.balance`;
  });

/** After a long outage: the `storeBalance` of `reconcileBalances`. */
export const storeInPostgres =
  (pool: pg.Pool): StoreBalance =>
  (card, balance, read) =>
    inTransaction(pool, async (transaction) => {
      if (!(await isNewest(transaction, `balance of ${card}`, read))) return false;
      const { rowCount } = await transaction.query(
        `INSERT INTO balances VALUES ($1, $2)
          ON CONFLICT (card) DO UPDATE SET balance = excluded.balance
          WHERE balances.balance <> excluded.balance`,
        [card, balance],
      );
      return rowCount === 1;
    });

/** With pg-boss. */
export async function receiveWithPgBoss(
  secret: string,
  boss: PgBoss,
  pool: pg.Pool,
): Promise<RequestHandler> {
  await ensureInboxTables(pool); // or run migrations/postgres/*.sql with your own tool
  await boss.createQueue("loyalty");
  // rejects when the queue cannot be used
  const inbox = await pgBossInbox(boss, { queue: "loyalty" });
  await boss.work(
    "loyalty",
    // pg-boss takes one event every two seconds by default
    { batchSize: 50, pollingIntervalSeconds: 0.5 },
    inboxHandler(handleEvents(pool)),
  );
  return expressReceiver({ secret, inbox });
}

/** Serverless, with pg-boss: a schedule processes what the receiver has stored. */
export const createRoute =
  (boss: PgBoss, queue: string, handler: QueueHandler) =>
  async (request: Request): Promise<Response> => {
    const secret = process.env.CRON_SECRET;
    if (!secret || request.headers.get("authorization") !== `Bearer ${secret}`)
      return new Response(null, { status: 401 });
    const handle = inboxHandler(handler);
    const endsAtMs = Date.now() + 50_000;
    while (Date.now() < endsAtMs) {
      const [job] = await boss.fetch(queue, { includeMetadata: true });
      if (job === undefined) break;
      await handle(job).then(
        () => boss.complete(queue, job.id),
        () => boss.fail(queue, job.id),
      );
    }
    return new Response(null, { status: 204 });
  };

/** With BullMQ. */
export async function receiveWithBullmq(
  secret: string,
  url: string,
  handle: QueueHandler,
  prefix = "bull",
) {
  const queue = new Queue("loyalty", {
    prefix,
    connection: { url, enableOfflineQueue: false },
  });
  const inbox = await bullmqInbox(queue); // rejects when the queue cannot be used
  // The job of a worker that dies is stalled; by default BullMQ fails a job that
  // stalls for the second time.
  const worker = new Worker("loyalty", inboxHandler(handle), {
    prefix,
    connection: { url },
    maxStalledCount: 10,
  });
  return { receive: fetchReceiver({ secret, inbox }), queue, worker };
}

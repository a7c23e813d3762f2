/** Several machines on PostgreSQL: pg-boss stores the events, and your transaction marks each as processed. */
// #region pg-boss
import { inboxHandler, pgBossInbox } from "@loyalty-cards/webhook-inbox";
import {
  ensureInboxTables,
  isNewest,
  markProcessed,
} from "@loyalty-cards/webhook-inbox/postgres";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import type { RequestHandler } from "express";
import type pg from "pg";
// pg-boss 11: import type PgBoss from "pg-boss";
import type { PgBoss } from "pg-boss";
import { inTransaction } from "./transaction.ts";

export async function receiveWebhooks(
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
    inboxHandler(
      onEvents({
        "balance.changed": (event) =>
          inTransaction(pool, async (transaction) => {
            // processed before
            if (!(await markProcessed(transaction, event))) return;
            const { passId, balance } = event.data;
            if (!(await isNewest(transaction, `balance of ${passId}`, event)))
              return; // a newer balance is stored
            await transaction.query(
              `INSERT INTO balances VALUES ($1, $2)
                ON CONFLICT (card) DO UPDATE SET balance = excluded.balance`,
              [passId, balance],
            );
          }),
        otherTypes: () => {},
      }),
    ),
  );
  return expressReceiver({ secret, inbox });
}
// #endregion

/** PostgreSQL and no queue: the receiver writes the effect of an event before it responds. */
// #region postgres-only
import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import type pg from "pg";
import { inTransaction } from "./transaction.ts";

export const createReceiver = (secret: string, pool: pg.Pool) =>
  fetchReceiver({
    secret,
    handler: onEvents({
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
    }),
  });

// #endregion

import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
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

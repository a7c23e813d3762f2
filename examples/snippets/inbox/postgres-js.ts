/** An effect with postgres.js: a balance, once and in order. */
// #region postgres-js
import { isNewest, markProcessed } from "@loyalty-cards/webhook-inbox/postgres";
import type { BalanceChanged } from "@loyalty-cards/webhook-verify";
import postgres from "postgres";

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
// #endregion

/** After a long outage: stores a balance in PostgreSQL unless a newer one is stored. */
// #region reconcile-postgres
import { isNewest } from "@loyalty-cards/webhook-inbox/postgres";
import type pg from "pg";
import type { StoreBalance } from "./reconcile.ts";
import { inTransaction } from "./transaction.ts";

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
// #endregion

/** After a long outage: stores a balance in the file of a SQLite inbox unless a newer one is stored. */
// #region reconcile-sqlite
import type { SqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import type { StoreBalance } from "./reconcile.ts";

export const storeInSqlite =
  (inbox: SqliteInbox): StoreBalance =>
  (card, balance, read) =>
    inbox.write((database) => {
      if (!isNewest(database, `balance of ${card}`, read)) return false;
      const { changes } = database
        .prepare(
          `INSERT INTO balances VALUES (?, ?)
            ON CONFLICT (card) DO UPDATE SET balance = excluded.balance
            WHERE balance <> excluded.balance`,
        )
        .run(card, balance);
      return Number(changes) === 1;
    });
// #endregion

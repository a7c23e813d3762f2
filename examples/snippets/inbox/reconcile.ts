/** After a long outage: compares the stored balances with the service's, and corrects them. */
// #region reconcile
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import { isNewest, withPgTransaction } from "@loyalty-cards/webhook-inbox/postgres";
import type pg from "pg";

/** @returns how many balances were wrong. */
export async function reconcileBalances(
  loyalty: IssuingClient,
  pool: pg.Pool,
  { cardsPerSecond = 5, sleep = wait } = {},
): Promise<number> {
  let corrected = 0;
  const { rows } = await pool.query(
    "SELECT card FROM users WHERE card IS NOT NULL",
  );
  for (const { card } of rows) {
    let date = "";
    const { loyaltyBalance } = await loyalty.getCard(card, {
      onResponse: ({ headers }) => {
        date = headers.get("date") ?? "";
      },
    });
    // The balance was read after this time of the service, so every later event is
    // newer.
    const read = { id: "", createdAt: new Date(date).toISOString() };
    corrected += await withPgTransaction(pool, async (transaction) => {
      if (!(await isNewest(transaction, `balance of ${card}`, read))) return 0;
      const { rowCount } = await transaction.query(
        `UPDATE users SET balance = $1
          WHERE card = $2 AND balance IS DISTINCT FROM $1`,
        [loyaltyBalance, card],
      );
      return rowCount ?? 0;
    });
    await sleep(1_000 / cardsPerSecond);
  }
  return corrected;
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
// #endregion

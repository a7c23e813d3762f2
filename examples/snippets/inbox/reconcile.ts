/**
 * After a long outage: reads the balance of each card, and corrects the stored one, in the file of
 * a SQLite inbox unless a newer one is stored.
 */
// #region reconcile
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

/** Stores a balance unless a newer one is stored; returns whether it changed. */
export type StoreBalance = (
  card: string,
  balance: number,
  read: { id: string; createdAt: string },
) => Promise<boolean>;

/** @returns how many balances were wrong, and the cards that do not exist. */
export async function reconcileBalances(
  loyalty: IssuingClient,
  cards: Iterable<string>,
  storeBalance: StoreBalance,
  { cardsPerSecond = 5, now = () => performance.now(), sleep = wait } = {},
): Promise<{ corrected: number; notFound: string[] }> {
  let corrected = 0;
  const notFound: string[] = [];
  let nextMs = now();
  for (const card of cards) {
    await sleep(Math.max(0, nextMs - now()));
    const startedMs = now();
    nextMs = startedMs + 1_000 / cardsPerSecond;
    let date = "";
    const onResponse = ({ headers }: { headers: Headers }) => {
      date = headers.get("date") ?? "";
    };
    try {
      const { loyaltyBalance } = await loyalty.getCard(card, { onResponse });
      // When the call began, on the clock of the service: an event that was created
      // after the service read the balance is newer.
      const readMs = Date.parse(date) - (now() - startedMs);
      const read = { id: "", createdAt: new Date(readMs).toISOString() };
      if (await storeBalance(card, loyaltyBalance, read)) corrected += 1;
    } catch (error) {
      if (!isIssuingError(error) || error.code !== "not-found") throw error;
      notFound.push(card);
    }
  }
  return { corrected, notFound };
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// #endregion

// #region reconcile-sqlite
import type { SqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";

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

/** Keeps the events that the shop needs and whose data is not as expected, instead of dropping them. */
// #region unexpected-data
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";

export function createRoute(secret: string, onBalance: (cardId: string, balance: number) => Promise<void>) {
  return fetchReceiver({
    secret,
    accept: onEvents({
      "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
      unknown: ({ id, type }) => {
        // Types that are newer than this version come here too; the shop does not use them.
        if (String(type) === "balance.changed") throw new Error(`${id} has data that is not as expected.`);
      },
      other: () => {},
    }),
  });
}
// #endregion

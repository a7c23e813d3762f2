/** Rejects events with unexpected data if the shop needs them, so that they are not lost. */
// #region unexpected-data
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";

export function createRoute(secret: string, onBalance: (cardId: string, balance: number) => Promise<void>) {
  return fetchReceiver({
    secret,
    handler: onEvents({
      "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
      unexpectedData: ({ id, type }) => {
        // Also called for event types that this version does not know; the shop does not use them.
        if (String(type) === "balance.changed") throw new Error(`${id} has unexpected data.`);
      },
      otherTypes: () => {},
    }),
  });
}
// #endregion

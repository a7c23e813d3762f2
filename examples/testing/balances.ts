/** The code under test: the webhook receiver of this shop. */
// #region balances
// balances.ts
import {
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
} from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";

export interface Balances {
  save(cardId: string, balance: number): Promise<void>;
}

export const receiveBalances = (options: ReceiverOptions, balances: Balances) =>
  fetchReceiver({
    ...options,
    dedupe: memoryDedupe(),
    handler: onEvents({
      "balance.changed": ({ data }) => balances.save(data.passId, data.balance),
      otherTypes: () => {},
    }),
  });
// #endregion

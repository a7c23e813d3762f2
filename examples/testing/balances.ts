/** The code under test: the webhook receiver of this shop. */
// #region balances
// balances.ts
import { type DedupeStore, onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";

export interface Balances {
  save(cardId: string, balance: number): Promise<void>;
}

export interface ReceiverSettings {
  secret: string;
  dedupe: DedupeStore;
  now?: () => number; // set by tests
}

export function receiveBalances(settings: ReceiverSettings, balances: Balances) {
  return fetchReceiver({
    ...settings,
    handler: onEvents({
      "balance.changed": ({ data }) => balances.save(data.passId, data.balance),
      otherTypes: () => {},
    }),
  });
}
// #endregion

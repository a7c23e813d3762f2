/** Sets events with unexpected data aside, instead of letting the service repeat them. */
// #region unexpected-data
import { onEvents, type UnknownEvent } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";

interface Shop {
  storeBalance(cardId: string, balance: number): Promise<void>;
  /** Stores the event for a person to look at. */
  setAside(event: UnknownEvent): Promise<void>;
}

export function createRoute(secret: string, shop: Shop) {
  return fetchReceiver({
    secret,
    handler: onEvents({
      "balance.changed": ({ data }) => shop.storeBalance(data.passId, data.balance),
      unexpectedData: (event) => shop.setAside(event),
      otherTypes: () => {},
    }),
  });
}
// #endregion

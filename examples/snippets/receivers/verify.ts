/** Verifies a delivery without a receiver, from the bytes and the header to the event; and sets events with unexpected data aside, instead of letting the service repeat them. */
// #region verify
import {
  isWebhookVerificationError,
  verifyWebhook,
} from "@loyalty-cards/webhook-verify";

export async function handle(
  rawBody: Uint8Array,
  signature: string | undefined,
  secret: string,
) {
  try {
    const event = await verifyWebhook({ rawBody, signature, secret });
    return { status: 204, event };
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    // the reason is for your log only
    return { status: error.reason === "invalid-payload" ? 400 : 401 };
  }
}

// #endregion

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

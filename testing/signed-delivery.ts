/** An event, and deliveries of it that are signed as the service signs them. */
import { signWebhookSync } from "@loyalty-cards/webhook-verify";

export const secret = "whsec_mock_4fZr0nXqT1";

export const balanceChanged = (id = "evt_1") => ({
  id,
  type: "balance.changed" as const,
  createdAt: "2026-01-01T00:00:00.000Z",
  data: {
    passId: "card_1",
    customerId: "cus_1",
    balance: 120,
    change: 120,
    operation: { id: "op_1", type: "purchase" },
  },
});

export interface SignedDelivery {
  body: string;
  headers: Record<string, string>;
}

export function signedDelivery(
  event: { type: string } | string,
  { timestamp = Math.floor(Date.now() / 1000), key = secret } = {},
): SignedDelivery {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  return {
    body,
    headers: {
      "content-type": "application/json",
      "service-event": typeof event === "string" ? "balance.changed" : event.type,
      "service-delivery": "dlv_1",
      "service-signature": signWebhookSync({ rawBody: body, secret: key, timestamp }),
    },
  };
}

/** Creates events in the format of the service, and stores them as a receiver does. */
import type { BalanceChanged, Inbox, WebhookEvent } from "@loyalty-cards/webhook-verify";

export const balanceChanged = (
  id: string,
  balance = 120,
  createdAt = "2026-01-01T00:00:00.000Z",
  passId = "card_1",
) =>
  ({
    id,
    type: "balance.changed",
    createdAt,
    data: {
      passId,
      customerId: "cus_1",
      balance,
      change: balance,
      operation: { id: "op_1", type: "purchase" },
    },
  }) satisfies BalanceChanged;

export const toBody = (event: WebhookEvent): Uint8Array => new TextEncoder().encode(JSON.stringify(event));

export function put(inbox: Inbox, event: WebhookEvent, signal = new AbortController().signal) {
  return inbox.put(event, { body: toBody(event), receivedAt: new Date() }, { signal });
}

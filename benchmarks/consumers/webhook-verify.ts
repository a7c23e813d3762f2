import { createServer } from "node:http";
import { isKnownEvent, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";

const secret = "whsec_secret";

export function readBalance(rawBody: Uint8Array, signature: string): number | undefined {
  const event = verifyWebhookSync({ rawBody, signature, secret });
  return isKnownEvent(event) && event.type === "balance.changed" ? event.data.balance : undefined;
}

export const server = createServer(
  nodeReceiver({
    secret,
    handler(event) {
      if (isKnownEvent(event) && event.type === "balance.changed")
        console.log(event.data.balance, event.data.customerId);
    },
  }),
);

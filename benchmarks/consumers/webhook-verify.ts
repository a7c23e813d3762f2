import { createServer } from "node:http";
import { verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";

const secret = "whsec_secret";

export function readBalance(rawBody: Uint8Array, signature: string): number | undefined {
  const event = verifyWebhookSync({ rawBody, signature, secret });
  return event.type === "balance.changed" ? event.data.balance : undefined;
}

export const server = createServer(
  nodeReceiver({
    secret,
    handler(event) {
      if (event.type === "balance.changed") console.log(event.data.balance, event.data.customerId);
    },
  }),
);

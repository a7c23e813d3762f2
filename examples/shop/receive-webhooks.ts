/** The shop's webhook route: keeps each member's balance as the service tells it. */
// #region receive-webhooks
// receive-webhooks.ts
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import type { RequestHandler } from "express";
import type { Users } from "./users.ts";

export function receiveWebhooks(secret: string, users: Users): RequestHandler {
  return expressReceiver({
    secret,
    dedupe: memoryDedupe(),
    accept: onEvents({
      "balance.changed": ({ data }) => {
        const user = users.withCard(data.passId);
        if (user !== undefined) user.balance = data.balance; // an older event can arrive later: the inbox below handles order
      },
      other: () => {},
    }),
  });
}
// #endregion

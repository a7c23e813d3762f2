/** An Express app that receives deliveries. */
// #region express
import { onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

export function createApp(
  secret: string,
  onBalance: (cardId: string, balance: number) => Promise<void>,
) {
  const app = express();
  app.post(
    "/webhooks/loyalty",
    expressReceiver({
      secret,
      handler: onEvents({
        "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
        otherTypes: () => {},
      }),
    }),
  );
  app.use(express.json()); // after the webhook route
  return app;
}
// #endregion

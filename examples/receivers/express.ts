/** An Express app that receives deliveries. */
// #region express
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

export function createApp(secret: string, onBalance: (cardId: string, balance: number) => Promise<void>) {
  const app = express();
  app.post(
    "/webhooks/loyalty",
    expressReceiver({
      secret,
      async accept(event) {
        if (event.type === "balance.changed") await onBalance(event.data.passId, event.data.balance);
      },
    }),
  );
  app.use(express.json()); // after the webhook route
  return app;
}
// #endregion

/** The same receiver after the migration. */
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

export type Save = (cardId: string, balance: number) => void;

// #region after
export function createApp(secret: string, save: Save) {
  const app = express();
  app.post(
    "/webhooks/loyalty",
    expressReceiver({
      secret,
      dedupe: memoryDedupe(),
      handler: onEvents({
        "balance.changed": ({ data }) => save(data.passId, data.balance),
        otherTypes: () => {},
      }),
    }),
  );
  app.use(express.json());
  return app;
}
// #endregion

/** A Fastify app that receives deliveries. */
// #region fastify
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import fastify from "fastify";

export function createApp(secret: string, onBalance: (cardId: string, balance: number) => Promise<void>) {
  const app = fastify();
  app.register(fastifyReceiver, {
    path: "/webhooks/loyalty",
    secret,
    async accept(event) {
      if (event.type === "balance.changed") await onBalance(event.data.passId, event.data.balance);
    },
  });
  return app;
}
// #endregion

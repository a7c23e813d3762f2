/** A Fastify app that receives deliveries. */
// #region fastify
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fastifyReceiver } from "@loyalty-cards/webhook-verify/fastify";
import fastify from "fastify";

export function createApp(
  secret: string,
  onBalance: (cardId: string, balance: number) => Promise<void>,
) {
  const app = fastify();
  app.register(fastifyReceiver, {
    path: "/webhooks/loyalty",
    secret,
    handler: onEvents({
      "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
      otherTypes: () => {},
    }),
  });
  return app;
}
// #endregion

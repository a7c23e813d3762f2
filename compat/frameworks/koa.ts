/** A Koa app that receives deliveries. */
// #region koa
import Router from "@koa/router";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import Koa from "koa";

export function createApp(secret: string, onBalance: (cardId: string, balance: number) => Promise<void>) {
  const receive = nodeReceiver({
    secret,
    handler: onEvents({
      "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
      otherTypes: () => {},
    }),
  });
  const router = new Router();
  router.post("/webhooks/loyalty", async (context) => {
    context.respond = false; // the receiver sends the response
    await receive(context.req, context.res);
  });
  const app = new Koa();
  app.use(router.routes());
  // app.use(bodyParser()) and the other routes: after the webhook route
  return app;
}
// #endregion

/** A Koa app that receives deliveries. */
// #region koa
import Router from "@koa/router";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { koaReceiver } from "@loyalty-cards/webhook-verify/koa";
import Koa from "koa";

export function createApp(
  secret: string,
  onBalance: (cardId: string, balance: number) => Promise<void>,
) {
  const router = new Router();
  router.post(
    "/webhooks/loyalty",
    koaReceiver({
      secret,
      handler: onEvents({
        "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
        otherTypes: () => {},
      }),
    }),
  );
  const app = new Koa();
  app.use(router.routes());
  // app.use(bodyParser()) and the other routes: after the webhook route
  return app;
}
// #endregion

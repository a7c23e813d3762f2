/** A receiver in Koa. */
// #region koa
import Router from "@koa/router";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import Koa from "koa";
import { webhooks } from "./webhooks.ts";

const receive = nodeReceiver(webhooks);
const router = new Router();
router.post("/webhooks/loyalty", async (context) => {
  context.respond = false; // the receiver sends the response
  await receive(context.req, context.res);
});
export const app = new Koa();
app.use(router.routes());
// app.use(bodyParser()) and the other routes: after the webhook route
// #endregion

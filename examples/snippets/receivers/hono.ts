/** A receiver in Hono, and wherever a handler takes a Request: Bun, Deno, Workers. */
// #region hono
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Hono } from "hono";
import { webhooks } from "./webhooks.ts";

const receive = fetchReceiver(webhooks);
export const app = new Hono().post("/webhooks/loyalty", (context) =>
  receive(context.req.raw),
);
// #endregion

/** A Hono app that receives deliveries; Bun, Deno and Workers take the same function as their handler. */
// #region hono
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Hono } from "hono";

export function createApp(secret: string, onBalance: (cardId: string, balance: number) => Promise<void>) {
  const receive = fetchReceiver({
    secret,
    async accept(event) {
      if (event.type === "balance.changed") await onBalance(event.data.passId, event.data.balance);
    },
  });
  return new Hono().post("/webhooks/loyalty", (context) => receive(context.req.raw));
}
// #endregion

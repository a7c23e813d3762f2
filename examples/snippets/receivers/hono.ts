/** A Hono app that receives deliveries; Bun, Deno and Workers accept the same function as their handler. */
// #region hono
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Hono } from "hono";

export function createApp(
  secret: string,
  onBalance: (cardId: string, balance: number) => Promise<void>,
) {
  const receive = fetchReceiver({
    secret,
    handler: onEvents({
      "balance.changed": ({ data }) => onBalance(data.passId, data.balance),
      otherTypes: () => {},
    }),
  });
  return new Hono().post("/webhooks/loyalty", (context) =>
    receive(context.req.raw),
  );
}
// #endregion

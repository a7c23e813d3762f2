/** A route of Next's App Router that receives deliveries. */
// #region next
// app/webhooks/loyalty/route.ts
import { onEvents } from "@loyalty-cards/webhook-verify";
import { nextRoute } from "@loyalty-cards/webhook-verify/next";

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
  accept: onEvents({
    "balance.changed": ({ data }) => saveBalance(data.passId, data.balance),
    other: () => {},
  }),
});
// #endregion

export const saved: [cardId: string, balance: number][] = [];

async function saveBalance(cardId: string, balance: number): Promise<void> {
  saved.push([cardId, balance]);
}

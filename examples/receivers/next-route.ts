/** A route of Next's App Router that receives deliveries. */
// #region next
// app/webhooks/loyalty/route.ts
import { nextRoute } from "@loyalty-cards/webhook-verify/next";

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
  async accept(event) {
    if (event.type === "balance.changed") await saveBalance(event.data.passId, event.data.balance);
  },
});
// #endregion

export const saved: [cardId: string, balance: number][] = [];

async function saveBalance(cardId: string, balance: number): Promise<void> {
  saved.push([cardId, balance]);
}

/** A route of Next's App Router that receives deliveries. */
// #region next
// app/webhooks/loyalty/route.ts
import { onEvents } from "@loyalty-cards/webhook-verify";
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { saveBalance } from "./balances"; // your own code

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  handler: onEvents({
    "balance.changed": ({ data }) => saveBalance(data.passId, data.balance),
    otherTypes: () => {},
  }),
});
// #endregion

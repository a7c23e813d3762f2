/** The Pages Router's receiver. */
// pages/api/webhooks/loyalty.ts
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { nextPagesHandler, type rawBodyConfig } from "@loyalty-cards/webhook-verify/next";
import { saveBalance, thank } from "../../../back-office";

// a literal: Next reads it from the source text
export const config = { api: { bodyParser: false } } satisfies typeof rawBodyConfig;

export default nextPagesHandler({
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  dedupe: memoryDedupe(),
  handler: onEvents({
    "balance.changed": ({ data }) => saveBalance(data.passId, data.balance),
    otherTypes: () => {},
  }),
  afterResponse: onEvents({
    "balance.changed": ({ data }) => thank(data.passId),
    otherTypes: () => {},
  }),
});

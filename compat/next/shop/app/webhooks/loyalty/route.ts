/** The App Router's receiver, on Node. */
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { after } from "next/server";
import { saveBalance, thank } from "../../../back-office";

export const POST = nextRoute({
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
  after,
});

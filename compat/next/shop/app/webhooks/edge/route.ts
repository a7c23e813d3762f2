/** The App Router's receiver, on the edge runtime. */
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { after } from "next/server";
import { saveBalance, thank } from "../../../back-office";

export const runtime = "edge";

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET_EDGE,
  dedupe: memoryDedupe(),
  handler: onEvents({
    "balance.changed": ({ data }) => saveBalance(data.passId, data.balance),
    otherTypes: () => {},
  }),
  afterResponse: onEvents({ "balance.changed": ({ data }) => thank(data.passId), otherTypes: () => {} }),
  after,
});

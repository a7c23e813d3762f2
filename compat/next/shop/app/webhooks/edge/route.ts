/** The App Router's door, on the edge runtime. */
import { memoryDedupe } from "@loyalty-cards/webhook-verify";
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { after } from "next/server";
import { saveBalance, thank } from "../../../back-office";

export const runtime = "edge";

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET_EDGE ?? "",
  dedupe: memoryDedupe(),
  async accept(event) {
    if (event.type === "balance.changed") await saveBalance(event.data.passId, event.data.balance);
  },
  async process(event) {
    if (event.type === "balance.changed") await thank(event.data.passId);
  },
  after,
});

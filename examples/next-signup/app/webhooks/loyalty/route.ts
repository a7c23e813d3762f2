/** Where the loyalty service delivers: 204 once the event is in the shop's file. */
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { inbox } from "../../../shop/database";

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
  inbox: { put: async (...event) => (await inbox()).put(...event) },
});

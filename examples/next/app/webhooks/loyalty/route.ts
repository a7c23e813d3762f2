/** Receives the webhooks: 204 when the event is stored in the shop's database. */
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { inbox } from "../../../shop/database";

export const POST = nextRoute({
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  inbox: { put: (...event) => inbox().put(...event) },
});

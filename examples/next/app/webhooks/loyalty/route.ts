/** Receives the webhooks: 204 when the event is stored in the shop's database. */
// #region webhooks
// app/webhooks/loyalty/route.ts
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { loyalty } from "../../../shop/loyalty";

export const POST = nextRoute({
  secret: () => loyalty().secret,
  inbox: { put: (...event) => loyalty().inbox.put(...event) },
});
// #endregion

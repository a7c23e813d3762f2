/** The shop of the first guide on Next: the webhooks. */
// #region next-webhooks
// app/webhooks/loyalty/route.ts
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { webhooks } from "../../../server/loyalty";

export const POST = nextRoute(webhooks); // nothing may read the request before it
// #endregion

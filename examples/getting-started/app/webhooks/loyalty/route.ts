/** The shop of the guide "Getting started" on Next: the webhooks. */
// #region next-webhooks
// app/webhooks/loyalty/route.ts
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { webhooks } from "../../../server/loyalty";

export const POST = nextRoute(webhooks); // no other code may read the request first
// #endregion

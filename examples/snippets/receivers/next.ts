/** The route of the guide in Next's App Router, whose build needs imports without an extension. */
// #region next
// app/webhooks/loyalty/route.ts
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { webhooks } from "./webhooks";

export const POST = nextRoute(webhooks);
// #endregion

/** The status page of the outbox, behind the shop's own sign-in for staff. */
// #region status
import type { Outbox } from "@loyalty-cards/issuing-outbox";
import { expressStatusPage } from "@loyalty-cards/webhook-inbox/status";
import type { Express, RequestHandler } from "express";

export function showOutbox(
  app: Express,
  outbox: Outbox,
  requireAdmin: RequestHandler,
): void {
  app.use(
    "/admin/outbox",
    requireAdmin,
    expressStatusPage(outbox, { authorize: "external" }),
  );
}
// #endregion

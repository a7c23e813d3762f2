/** Monitors an inbox with a status page. */
// #region operations
import { type SqliteInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { expressStatusPage } from "@loyalty-cards/webhook-inbox/status";
import type { Express, RequestHandler } from "express";

export function openInbox(
  file: string,
  app: Express,
  requireAdmin: RequestHandler,
): SqliteInbox {
  const inbox = sqliteInbox({ file });
  app.use(
    "/admin/inbox",
    requireAdmin,
    expressStatusPage(inbox, { authorize: "external" }),
  );
  return inbox;
}
// #endregion

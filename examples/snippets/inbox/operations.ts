/** Monitors an inbox: metrics and a status page. */
// #region operations
import { type SqliteInbox, sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { inboxMetrics } from "@loyalty-cards/webhook-inbox/otel";
import { expressStatusPage } from "@loyalty-cards/webhook-inbox/status";
import type { Meter } from "@opentelemetry/api";
import type { Express, RequestHandler } from "express";

export function openInbox(
  file: string,
  app: Express,
  requireAdmin: RequestHandler,
  meter: Meter,
): SqliteInbox {
  const metrics = inboxMetrics(meter);
  const inbox = sqliteInbox({ file, onOutcome: metrics.onOutcome });
  metrics.observe(inbox);
  app.use(
    "/admin/inbox",
    requireAdmin,
    expressStatusPage(inbox, { authorize: "external" }),
  );
  return inbox;
}
// #endregion

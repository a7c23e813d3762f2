/** Shows the state of an inbox and its dead letters to an administrator, and replays one. */
// #region operations
import type { InspectableInbox } from "@loyalty-cards/webhook-inbox";
import type { Express, RequestHandler } from "express";

export function operateInbox(
  app: Express,
  inbox: InspectableInbox,
  requireAdmin: RequestHandler,
): void {
  app.get("/admin/inbox", requireAdmin, async (_request, response) => {
    const [health, dead] = await Promise.all([
      inbox.health(),
      inbox.list({ state: "dead" }),
    ]);
    response.json({ health, dead });
  });
  app.post("/admin/inbox/:id/replay", requireAdmin, async (request, response) => {
    const isReplayed = await inbox.replay(String(request.params.id));
    response.sendStatus(isReplayed ? 204 : 404);
  });
}
// #endregion

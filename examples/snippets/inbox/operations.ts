/** Routes of an inbox: an administrator sees its state and dead letters, and replays one; a schedule processes what the receiver has stored. */
// #region operations
import type { SqliteInbox } from "@loyalty-cards/webhook-inbox";
import type { Express, RequestHandler } from "express";

export function operateInbox(
  app: Express,
  inbox: SqliteInbox,
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

// #region scheduled
import type { PgBossInbox, QueueHandler } from "@loyalty-cards/webhook-inbox";

export const createRoute =
  (inbox: PgBossInbox, handler: QueueHandler) =>
  async (request: Request): Promise<Response> => {
    if (
      request.headers.get("authorization") !== `Bearer ${process.env.CRON_SECRET}`
    )
      return new Response(null, { status: 401 });
    await inbox.drain(handler, { maxMs: 50_000 });
    return new Response(null, { status: 204 });
  };
// #endregion

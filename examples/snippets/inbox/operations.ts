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

import { inboxHandler, type QueueHandler } from "@loyalty-cards/webhook-inbox";
import type { PgBoss } from "pg-boss";

export const createRoute =
  (boss: PgBoss, queue: string, handler: QueueHandler) =>
  async (request: Request): Promise<Response> => {
    if (
      request.headers.get("authorization") !== `Bearer ${process.env.CRON_SECRET}`
    )
      return new Response(null, { status: 401 });
    const handle = inboxHandler(handler);
    const endsAtMs = Date.now() + 50_000;
    while (Date.now() < endsAtMs) {
      const [job] = await boss.fetch(queue, { includeMetadata: true });
      if (job === undefined) break;
      await handle(job).then(
        () => boss.complete(queue, job.id),
        () => boss.fail(queue, job.id),
      );
    }
    return new Response(null, { status: 204 });
  };

/** A route that a schedule calls: it processes what the receiver has stored. */
// #region scheduled
import type { PgBossInbox, QueueHandler } from "@loyalty-cards/webhook-inbox";

export const createRoute =
  (inbox: PgBossInbox, handler: QueueHandler) =>
  async (request: Request): Promise<Response> => {
    if (
      request.headers.get("authorization") !== `Bearer ${process.env.CRON_SECRET}`
    )
      return new Response(null, { status: 401 });
    return Response.json(await inbox.drain(handler, { maxMs: 50_000 }));
  };
// #endregion

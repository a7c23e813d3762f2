/** Serverless functions: the card is requested after the response, and a schedule issues what is left. */
// #region serverless
import type { Outbox } from "@loyalty-cards/issuing-outbox"; // a postgresOutbox

// import { after } from "next/server"
type After = (work: () => Promise<unknown>) => void;

/**
 * After the transaction that saves the user. The page shows the card when
 * users.card is set.
 */
export function issueAfterResponse(
  outbox: Outbox,
  userId: string,
  after: After,
): void {
  after(() => outbox.issue(userId, { deadlineMs: 20_000 }));
}

/**
 * The route that a schedule calls at least once an hour, with a secret that only
 * the schedule knows.
 */
export async function drain(outbox: Outbox, request: Request): Promise<Response> {
  if (request.headers.get("authorization") !== `Bearer ${process.env.CRON_SECRET}`)
    return new Response(null, { status: 401 });
  return Response.json(await outbox.drain({ maxMs: 50_000 }));
}
// #endregion

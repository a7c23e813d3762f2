/** A route of the edge runtime that issues a card. */
import { join } from "../../../members";

export const runtime = "edge";

export async function POST(request: Request): Promise<Response> {
  const { user } = await request.json();
  return Response.json({ cardId: await join(user, "Cecilia") }, { status: 201 });
}

/** What an open page compares with what it shows. */
import { getState } from "../../../shop/members";
import { currentMember } from "../../../shop/session";

export async function GET(): Promise<Response> {
  const member = await currentMember();
  if (member === undefined) return new Response(null, { status: 401 });
  return Response.json(await getState(member.id));
}

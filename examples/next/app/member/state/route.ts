/** What an open page compares with what it shows. */
import { currentMember, getState } from "../../../shop/members";

export async function GET(): Promise<Response> {
  const member = await currentMember();
  if (member === undefined) return new Response(null, { status: 401 });
  return Response.json(await getState(member.id));
}

/** The shop of the guide "Getting started" on Next: the sign-up. */
// #region next-sign-up
// app/sign-up/route.ts
import { type Form, signUp } from "../../server/loyalty";

export async function POST(request: Request): Promise<Response> {
  const { status, body } = await signUp((await request.json()) as Form);
  return Response.json(body, { status });
}
// #endregion

/** The shop of the guide "Getting started" on Next: its users. */
// #region next-users
// app/users/route.ts
import { listUsers } from "../../server/loyalty";

export const dynamic = "force-dynamic";

// For this guide only: a real shop shows each user only their own data.
export const GET = async () => Response.json(await listUsers());
// #endregion

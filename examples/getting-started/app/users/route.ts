/** The shop of the first guide on Next: its users. */
// #region next-users
// app/users/route.ts
import { users } from "../../server/loyalty";

export const dynamic = "force-dynamic";

// For this guide only: a real shop shows a user to that user alone.
export const GET = () => Response.json(users);
// #endregion

/** The shop of the first guide on Next: what only the server may import. */
// #region next-server
// server/loyalty.ts
import "server-only"; // the build fails when a component of the browser imports this file

export { type Form, signUp, users, webhooks } from "../loyalty";
// #endregion

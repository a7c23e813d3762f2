/** The shop of the guide "Getting started" on Next: code for the server only. */
// #region next-server
// server/loyalty.ts
import "server-only"; // the build fails if code for the browser imports this file

export { type Form, listUsers, signUp, webhooks } from "../loyalty";
// #endregion

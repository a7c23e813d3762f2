/** A worker apart from the web process. */
// #region worker
// worker.ts
import { handleEvents, inbox, outbox } from "./loyalty.ts"; // what the web process opens too

outbox.work();
inbox.work(handleEvents);
process.once("SIGTERM", () => Promise.all([outbox.close(), inbox.close()]));
// #endregion

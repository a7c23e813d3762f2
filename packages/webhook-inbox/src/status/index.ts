/** The face of `/status`. */
export { expressStatusPage } from "./express.ts";
export { fetchStatusPage } from "./fetch.ts";
export type { StatusPageOptions } from "./status.ts";

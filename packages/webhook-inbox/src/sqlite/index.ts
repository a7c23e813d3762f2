/** The face of `/sqlite`. */
export type { Occurrence } from "../created-at.ts";
export type { SqliteDatabase, SqliteStatement } from "./database.ts";
export { ensureTables, isNewest, markProcessed } from "./processed.ts";

/** The face of `/postgres`. */
export type { Occurrence } from "../created-at.ts";
export { ensureTables, isNewest, markProcessed } from "./processed.ts";
export {
  type PgPool,
  type PgPoolClient,
  type PostgresJs,
  withPgTransaction,
  withPostgresJsTransaction,
} from "./run-transaction.ts";
export type { PostgresClient, PostgresTransaction } from "./transaction.ts";

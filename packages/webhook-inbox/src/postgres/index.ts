/** Entry point `/postgres`: exactly-once effects, and transactions that survive a cut connection. */
export type { OrderedEvent } from "../event.ts";
export { ensureTables, isNewest, markProcessed } from "./processed.ts";
export {
  type PgPool,
  type PgPoolClient,
  type PostgresJs,
  withPgTransaction,
  withPostgresJsTransaction,
} from "./run-transaction.ts";
export type { PostgresClient, PostgresTransaction } from "./transaction.ts";

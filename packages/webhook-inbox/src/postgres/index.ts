/** Entry point `/postgres`: exactly-once effects, and transactions that survive a cut connection. */
export {
  type PgPool,
  type PgPoolClient,
  type PostgresJs,
  withPgTransaction,
  withPostgresJsTransaction,
} from "@loyalty-cards/internal/postgres/run-transaction";
export type { PostgresClient, PostgresTransaction } from "@loyalty-cards/internal/postgres/transaction";
export type { OrderedEvent } from "../event.ts";
export { ensureTables, isNewest, markProcessed } from "./processed.ts";

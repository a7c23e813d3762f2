/** Entry point `/postgres`: exactly-once effects, and transactions that survive a cut connection. */
export {
  withPgTransaction,
  withPostgresJsTransaction,
} from "@loyalty-cards/internal/postgres/run-transaction";
export type { PostgresTransaction } from "@loyalty-cards/internal/postgres/transaction";
export { ensureTables, isNewest, markProcessed } from "./processed.ts";

/** The transaction of the example on Fastify. */
export { inTransaction } from "../../fastify/transaction.ts";

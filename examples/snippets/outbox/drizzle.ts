/** An outbox whose callbacks and `write` get transactions of Drizzle. */
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import {
  fromDrizzle,
  postgresOutbox,
} from "@loyalty-cards/issuing-outbox/postgres";
import { eq, sql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";

export const users = pgTable("users", { id: text().primaryKey(), card: text() });

// #region drizzle
type Tx = Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0];

export const openOutbox = (client: IssuingClient, db: NodePgDatabase) =>
  postgresOutbox({
    client,
    transaction: (work) => db.transaction(work),
    adapt: (tx: Tx) => fromDrizzle(tx, sql),
    onIssued: ({ userId, cardId }, tx) =>
      tx.update(users).set({ card: cardId }).where(eq(users.id, userId)),
  });
// #endregion

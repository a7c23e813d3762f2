/** Transactions of the PostgreSQL clients. */

import { fromDrizzle, fromKysely } from "@loyalty-cards/internal/postgres/adapters";
import type { PostgresTransaction } from "@loyalty-cards/internal/postgres/transaction";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import type pg from "pg";
import type postgres from "postgres";
import { inTransaction } from "../examples/fastify/transaction.ts";

export interface Transacting {
  /** Commits when the work resolves; rolls back when it rejects. */
  transaction<Result>(
    work: (
      transaction: PostgresTransaction,
      run: (text: string) => Promise<unknown>,
    ) => Promise<Result>,
  ): Promise<Result>;
  /** The client outside of a transaction, which must be refused. */
  outside: PostgresTransaction;
}

export function overPg(pool: pg.Pool): Transacting {
  return {
    outside: pool,
    transaction: (work) =>
      inTransaction(pool, (client) => work(client, (text) => client.query(text))),
  };
}

const overPostgresJs = (client: postgres.Sql): Transacting => ({
  outside: client,
  transaction: (work) => client.begin((own) => work(own, (text) => own.unsafe(text))) as never,
});

/** A transaction of each supported client. */
export function overEveryClient(pool: pg.Pool, client: postgres.Sql): Record<string, Transacting> {
  return {
    pg: overPg(pool),
    "postgres.js": overPostgresJs(client),
    "Drizzle over pg": overDrizzle(drizzle(pool)),
    "Drizzle over postgres.js": overDrizzle(drizzleOverPostgresJs(client) as never),
    Kysely: overKysely(pool),
    "the shape of Prisma": inPrismasShape(pool),
  };
}

const overDrizzle = (
  database: Pick<ReturnType<typeof drizzle>, "transaction" | "execute">,
): Transacting => ({
  outside: fromDrizzle(database, sql),
  transaction: (work) =>
    database.transaction((own) =>
      work(fromDrizzle(own, sql), (text) => own.execute(sql.raw(text))),
    ),
});

function overKysely(pool: pg.Pool): Transacting {
  const database = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) });
  return {
    outside: fromKysely(database, CompiledQuery),
    transaction: (work) =>
      database
        .transaction()
        .execute((own) =>
          work(fromKysely(own, CompiledQuery), (text) => kyselySql.raw(text).execute(own)),
        ),
  };
}

/** The used method of Prisma's clients and transactions, on the driver of its adapter. */
function inPrismasShape(pool: pg.Pool): Transacting {
  const toPrisma = (client: pg.Pool | pg.PoolClient) => ({
    $queryRawUnsafe: async <Result>(text: string, ...values: unknown[]) =>
      (await client.query(text, values)).rows as Result,
  });
  return {
    outside: toPrisma(pool),
    transaction: (work) =>
      inTransaction(pool, (client) => work(toPrisma(client), (text) => client.query(text))),
  };
}

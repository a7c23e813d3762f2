/** Transactions of the PostgreSQL clients. */
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import type pg from "pg";
import type postgres from "postgres";
import { inTransaction } from "../../../examples/fastify/transaction.ts";
import type { PostgresTransaction } from "../src/postgres.ts";

export interface Transacting {
  /** Commits when the work resolves; rolls back when it rejects. */
  transaction<Result>(
    work: (transaction: PostgresTransaction, run: (text: string) => Promise<unknown>) => Promise<Result>,
  ): Promise<Result>;
  /** Clients that must be rejected, because they are not in a transaction. */
  outside: unknown;
}

export function overPg(pool: pg.Pool): Transacting {
  return {
    outside: pool,
    transaction: (work) => inTransaction(pool, (client) => work(client, (text) => client.query(text))),
  };
}

/** A transaction of each supported client. */
export function overEveryClient(pool: pg.Pool, client: postgres.Sql): Record<string, Transacting> {
  return {
    pg: overPg(pool),
    "postgres.js": {
      outside: client,
      transaction: (work) => client.begin((own) => work(own, (text) => own.unsafe(text))) as never,
    },
    "Drizzle over pg": overDrizzle(drizzle(pool)),
    "Drizzle over postgres.js": overDrizzle(drizzleOverPostgresJs(client) as never),
    Kysely: overKysely(pool),
    "the shape of Prisma": inPrismasShape(pool),
  };
}

const overDrizzle = (database: Pick<ReturnType<typeof drizzle>, "transaction">): Transacting => ({
  outside: database,
  transaction: (work) => database.transaction((own) => work(own, (text) => own.execute(sql.raw(text)))),
});

function overKysely(pool: pg.Pool): Transacting {
  const database = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) });
  return {
    outside: database,
    transaction: (work) =>
      database.transaction().execute((own) => work(own, (text) => kyselySql.raw(text).execute(own))),
  };
}

/** The two used methods of Prisma's transactions, on the driver of its adapter. */
function inPrismasShape(pool: pg.Pool): Transacting {
  const plain = overPg(pool);
  return {
    outside: { $queryRawUnsafe: () => {}, $connect: () => {} },
    transaction: (work) =>
      plain.transaction((client, run) => {
        const holder = client as pg.PoolClient;
        const $queryRawUnsafe = async <Result>(text: string, ...values: unknown[]) =>
          (await holder.query(text, values)).rows as Result;
        return work({ $queryRawUnsafe }, run);
      }),
  };
}

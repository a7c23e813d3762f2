/** The public types: what compiles, what does not, and what callbacks get. */
import { defineTemplate } from "@loyalty-cards/issuing-client";
import type { BetterSqlite } from "@loyalty-cards/testing/sqlite-files";
import { sql } from "drizzle-orm";
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type pg from "pg";
import type postgres from "postgres";
import { expectTypeOf, test } from "vitest";
import type { OutboxEntry, OutboxState, SqliteDatabase, SqliteOutbox } from "../src/index.ts";
import { sqliteOutbox } from "../src/index.ts";
import { fromDrizzle, type PostgresOutbox, postgresOutbox } from "../src/postgres.ts";

declare const client: Parameters<typeof sqliteOutbox>[0]["client"];
declare const outbox: SqliteOutbox;
declare const database: SqliteDatabase;
declare const betterSqlite: BetterSqlite;

const customer = { phone: "+48600100200", consents: { privacy: { version: "1" } } };

test("the entry of onIssued has a card, and that of onRejected an error", () => {
  sqliteOutbox({
    client,
    file: "shop.db",
    onIssued: (entry, transaction) => {
      expectTypeOf(entry.cardId).toEqualTypeOf<string>();
      expectTypeOf(transaction).toEqualTypeOf<SqliteDatabase>();
    },
    onRejected: ({ error }) =>
      expectTypeOf(error).toEqualTypeOf<NonNullable<OutboxEntry["error"]>>(),
  });
});

test("the request fits the template", () => {
  const template = defineTemplate<{ name: string }>("tpl_1");
  outbox.add(database, {
    userId: 1n,
    template,
    request: { fieldValues: { name: "Anna" }, customer },
  });
  // @ts-expect-error name is text
  outbox.add(database, { userId: 1, template, request: { fieldValues: { name: 1 }, customer } });
  // @ts-expect-error no request
  outbox.add(database, { userId: 1, template: "tpl_1" });
});

test("a person resolves with a card or without one", () => {
  outbox.resolve(1, { cardId: "card_1" });
  outbox.resolve(1, { noCard: true });
  // @ts-expect-error not both
  outbox.resolve(1, { cardId: "card_1", noCard: true });
});

test("add and write of SQLite are synchronous inside, and those of PostgreSQL are promises", () => {
  expectTypeOf(outbox.add).returns.toEqualTypeOf<"added" | OutboxState>();
  expectTypeOf<PostgresOutbox<pg.PoolClient>["add"]>().returns.toEqualTypeOf<
    Promise<"added" | OutboxState>
  >();
});

test("open and add take better-sqlite3, as TypeScript 5 reads its types", () => {
  sqliteOutbox({ client, file: "shop.db", open: () => betterSqlite });
  const request = { customer };
  outbox.add(betterSqlite, { userId: 1, template: "tpl_1", request });
  outbox.correct(betterSqlite, 1, request);
  // @ts-expect-error no database
  outbox.add({ exec: () => {} }, { userId: 1, template: "tpl_1", request });
});

test("write of SQLite takes a synchronous function", () => {
  expectTypeOf(outbox.write(() => 1)).resolves.toBeNumber();
  // @ts-expect-error an async function
  outbox.write(async () => 1);
});

test("callbacks of PostgreSQL get the transaction of the client that was passed", () => {
  const pool = {} as pg.Pool;
  postgresOutbox({
    client,
    pool,
    onIssued: (_entry, transaction) => transaction.query("SELECT 1"),
  });
  const sql = {} as postgres.Sql;
  postgresOutbox({
    client,
    pool: sql,
    onIssued: (_entry, transaction) => transaction`SELECT 1`,
  });
  const transaction = async (work: (each: pg.PoolClient) => unknown) => work;
  // @ts-expect-error pool or transaction, not both
  postgresOutbox({ client, pool, transaction });
});

test("a transaction without query needs an adapter, and callbacks get it as it is", () => {
  const db = {} as NodePgDatabase;
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  const adapted = postgresOutbox({
    client,
    transaction: (work) => db.transaction(work),
    adapt: (tx: Tx) => fromDrizzle(tx, sql),
    onIssued: (_entry, tx) => expectTypeOf(tx).toEqualTypeOf<Tx>(),
  });
  expectTypeOf(adapted.add).parameter(0).toEqualTypeOf<Tx>();
  // @ts-expect-error no adapter
  postgresOutbox({ client, transaction: (work) => db.transaction(work) });
  // @ts-expect-error adapt is for transaction
  postgresOutbox({ client, pool: {} as pg.Pool, adapt: (tx: pg.PoolClient) => tx });

  const unadapted = postgresOutbox({ client, pool: {} as pg.Pool });
  db.transaction(async (tx) => {
    await unadapted.add(fromDrizzle(tx, sql), { userId: 1, template: "t", request: { customer } });
    // @ts-expect-error no adapter
    await unadapted.add(tx, { userId: 1, template: "t", request: { customer } });
  });
});

test("a transaction with query needs no adapter", () => {
  const prisma = {} as {
    $transaction<Result>(work: (tx: PrismaTransaction) => Promise<Result>): Promise<Result>;
  };
  interface PrismaTransaction {
    $queryRawUnsafe<Result>(text: string, ...values: unknown[]): Promise<Result>;
  }
  const outbox = postgresOutbox({ client, transaction: (work) => prisma.$transaction(work) });
  expectTypeOf(outbox).toEqualTypeOf<PostgresOutbox>();
  postgresOutbox<PrismaTransaction>({
    client,
    transaction: (work) => prisma.$transaction(work),
    onIssued: (_entry, tx) => expectTypeOf(tx).toEqualTypeOf<PrismaTransaction>(),
  });
});

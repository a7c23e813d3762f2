/** Transactions of the PostgreSQL clients, also through a PgBouncer of the test. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromDrizzle, fromKysely } from "@loyalty-cards/internal/postgres/adapters";
import type { PostgresTransaction } from "@loyalty-cards/internal/postgres/client";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js";
import { CompiledQuery, Kysely, sql as kyselySql, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, vi } from "vitest";
import { inTransaction } from "../examples/fastify/transaction.ts";
import { freePort } from "./free-port.ts";
import { databaseUrl } from "./servers.ts";

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

const hasPgBouncer = spawnSync("pgbouncer", ["--version"]).status === 0;

/**
 * Transactions through a PgBouncer that runs during the suite: two connections to PostgreSQL, each
 * lent for one transaction. None if it is not installed.
 */
export async function overPgBouncer(schema: string): Promise<Record<string, Transacting>> {
  if (!hasPgBouncer) {
    console.error("SKIPPED: tests through PgBouncer, because pgbouncer is not installed.");
    return {};
  }
  const port = await freePort();
  const url = `postgres://shop@127.0.0.1:${port}/shop`;
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const sql = postgres(url, { max: 8, prepare: false, fetch_types: false, onnotice: () => {} });
  const folder = mkdtempSync(join(tmpdir(), "own-pgbouncer-"));
  let stop = () => {};
  beforeAll(async () => {
    stop = start(port, folder, schema);
    await vi.waitFor(() => pool.query("SELECT 1"), { timeout: 30_000 });
  });
  afterAll(async () => {
    await Promise.all([pool.end(), sql.end()]);
    stop();
    rmSync(folder, { recursive: true });
  });
  const clients = Object.entries(overEveryClient(pool, sql));
  return Object.fromEntries(clients.map(([name, each]) => [`${name} through PgBouncer`, each]));
}

/** @returns what stops it. */
function start(port: number, folder: string, schema: string): () => void {
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const database = [
    `host=${hostname}`,
    `port=${databasePort || 5432}`,
    `dbname=${pathname.slice(1)}`,
    `user=${username}`,
    `password=${password}`,
    `connect_query='SET search_path = ${schema}'`,
  ];
  const settings = [
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 2",
  ];
  const file = join(folder, "pgbouncer.ini");
  const lines = ["[databases]", `shop = ${database.join(" ")}`, "[pgbouncer]", ...settings, ""];
  writeFileSync(file, lines.join("\n"));
  chmodSync(folder, 0o755); // it cannot run as root
  const asUser = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
  const bouncer = spawn("pgbouncer", [...asUser, file], { stdio: "ignore" });
  return () => void bouncer.kill("SIGKILL");
}

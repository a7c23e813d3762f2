/** PostgreSQL for the tests: `DATABASE_URL`, else the standard port of this machine. */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";

const url =
  process.env["DATABASE_URL"] ??
  "postgres://postgres:postgres@127.0.0.1:5432/postgres";

/** @throws when `LOYALTY_CARDS_SERVERS` says that it is required. */
export async function hasPostgres(): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3_000,
  });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch (error) {
    if (process.env["LOYALTY_CARDS_SERVERS"] === "required") throw error;
    console.error(`SKIPPED: no PostgreSQL at ${url}.`);
    return false;
  }
}

/** Creates a schema for one test, and removes it afterwards. */
export function createSchema() {
  const schema = `example_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  const pools: pg.Pool[] = [];
  beforeAll(() => admin.query(`CREATE SCHEMA ${schema}`));
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    await admin.end();
  });
  return {
    schema,
    url,
    pool(max: number): pg.Pool {
      const pool = new pg.Pool({
        connectionString: url,
        options: `-c search_path=${schema}`,
        max,
      });
      pools.push(pool);
      return pool;
    },
  };
}

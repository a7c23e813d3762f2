/** The real servers that tests talk to: named by the environment, else on their standard ports of this machine. */
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";

const databaseUrl = process.env["DATABASE_URL"] ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/** Skipping is for machines without the server; the gate, which sets this, has them all. */
const mayBeMissing = process.env["LOYALTY_CARDS_SERVERS"] !== "required";

async function isThere(name: string, ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    const message = `${name} is not there (${(error as { code?: string }).code ?? error}).`;
    if (!mayBeMissing) throw new Error(`${message} The gate needs it.`);
    console.error(`SKIPPED: ${message} README.md of webhook-inbox says how to start it.`);
    return false;
  }
}

/** Whether there is a PostgreSQL. @throws when there must be one. */
export const hasPostgres = () =>
  isThere("PostgreSQL", async () => {
    const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 3_000 });
    await client.connect();
    await client.end();
  });

/** Whether there is a Redis. @throws when there must be one. */
export const hasRedis = () =>
  isThere("Redis", async () => {
    const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
    redis.on("error", () => {}); // reported by connect
    try {
      await redis.connect();
      await redis.ping();
    } finally {
      redis.disconnect();
    }
  });

/** A schema of this suite's own, made before it and removed after it; a suite that is skipped touches no server. */
export function ownSchema() {
  const schema = `inbox_test_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const pools: pg.Pool[] = [];
  beforeAll(() => admin.query(`CREATE SCHEMA ${schema}`));
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    await admin.end();
  });
  return {
    schema,
    url: databaseUrl,
    pool(max = 8): pg.Pool {
      const pool = new pg.Pool({ connectionString: databaseUrl, options: `-c search_path=${schema}`, max });
      pools.push(pool);
      return pool;
    },
  };
}

/** Keys of this file's own, removed at its end. */
export function ownPrefix() {
  const prefix = `webhook-inbox-test-${randomUUID()}`;
  afterAll(async () => {
    const redis = new Redis(redisUrl);
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(keys);
    redis.disconnect();
  });
  return { prefix, url: redisUrl };
}

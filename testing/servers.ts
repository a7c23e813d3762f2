/**
 * The real PostgreSQL and Redis of the tests: configured by the environment, by default on the
 * standard local ports. And the Node.js that runs pg-boss 12: 22.12 or later.
 */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** Whether this process can use pg-boss. */
export const runsPgBoss = major > 22 || (major === 22 && minor >= 12);

const inCompat = (path: string) =>
  fileURLToPath(new URL(`../compat/node_modules/${path}`, import.meta.url));
/** The Node.js 24 that `npm ci --prefix compat` installs. */
const node24 = inCompat("node-24/bin/node");
/** npm writes this file last: an installation can be under way. */
const hasNode24 = existsSync(inCompat(".package-lock.json")) && existsSync(node24);
/** The program for receivers with pg-boss; undefined when there is none. */
export const pgBossNode = runsPgBoss ? process.execPath : hasNode24 ? node24 : undefined;

export const databaseUrl =
  process.env["DATABASE_URL"] ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
export const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

/**
 * Tests are skipped without a server, except with LOYALTY_CARDS_SERVERS=required, which
 * `npm run check` sets.
 */
const mayBeMissing = process.env["LOYALTY_CARDS_SERVERS"] !== "required";

async function isAvailable(name: string, connect: () => Promise<unknown>): Promise<boolean> {
  try {
    await connect();
    return true;
  } catch (error) {
    const message = `${name} is not available (${(error as { code?: string }).code ?? error}).`;
    if (!mayBeMissing) throw new Error(`${message} LOYALTY_CARDS_SERVERS requires it.`);
    console.error(`SKIPPED: ${message} CONTRIBUTING.md says how to start it.`);
    return false;
  }
}

/**
 * Whether PostgreSQL is available.
 * @throws when it is required and not available
 */
export const hasPostgres = () =>
  isAvailable("PostgreSQL", async () => {
    const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 3_000 });
    await client.connect();
    await client.end();
  });

/** Whether this Node.js runs pg-boss, and PostgreSQL is available. */
export async function hasPgBoss(): Promise<boolean> {
  if (runsPgBoss) return hasPostgres();
  console.error(
    "SKIPPED: pg-boss needs Node.js 22.12 or later. `npm run check` tests it on Node.js 24.",
  );
  return false;
}

/**
 * Whether Redis is available.
 * @throws when it is required and not available
 */
export const hasRedis = () =>
  isAvailable("Redis", async () => {
    const redis = new Redis(redisUrl, { lazyConnect: true, retryStrategy: () => null });
    redis.on("error", () => {}); // reported by connect
    try {
      await redis.connect();
      await redis.ping();
    } finally {
      redis.disconnect();
    }
  });

/**
 * Creates a schema before the suite, and removes it afterwards; a skipped suite does not connect.
 */
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
      const own = { options: `-c search_path=${schema}`, application_name: schema };
      const pool = new pg.Pool({ connectionString: databaseUrl, ...own, max });
      pools.push(pool);
      return pool;
    },
  };
}

/** A key prefix for this file; its keys are removed at the end. */
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

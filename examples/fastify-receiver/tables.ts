/** What the database must have before a process receives: made by the first one, while the others wait. */
import { ensureTables } from "@loyalty-cards/webhook-inbox/postgres";
import type pg from "pg";
import type PgBoss from "pg-boss";

/** Any number that nobody else in this database locks. */
const lock = 20261120;

/** A shop with migrations has these there. */
const tables = `
  CREATE TABLE IF NOT EXISTS signing_secrets (id serial PRIMARY KEY, key text UNIQUE NOT NULL, not_after timestamptz);
  CREATE TABLE IF NOT EXISTS members (card text PRIMARY KEY, balance float NOT NULL, purchases int NOT NULL)`;

/** Processes that start together take turns: two that make the same queue at once can lock each other out. */
export async function prepare(pool: pg.Pool, boss?: PgBoss): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [lock]);
    await client.query(tables);
    await ensureTables(client);
    await boss?.start();
    // How long a process that died holds what it had taken; less than that, and slow handlers run twice.
    await boss?.createQueue("loyalty", { name: "loyalty", expireInSeconds: 60 });
  } finally {
    client.release(true); // the lock ends with its connection
  }
}

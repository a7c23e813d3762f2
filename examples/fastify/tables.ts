/** Creates the tables and the queue: the first process does, while the others wait. */
import { ensureInboxTables } from "@loyalty-cards/webhook-inbox/postgres";
import type pg from "pg";
import type { PgBoss } from "pg-boss";
import { createTables } from "./sign-up.ts";

/** A number that no other program locks in this database. */
const lock = 20261120;

/**
 * A shop with migrations creates these there. Balances belong to a card, because an event can
 * arrive before the card's id is stored with the user.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS signing_secrets (
    id serial PRIMARY KEY,
    key text UNIQUE NOT NULL,
    not_after timestamptz
  );
  CREATE TABLE IF NOT EXISTS members (
    card text PRIMARY KEY,
    balance float NOT NULL,
    purchases int NOT NULL
  )`;

/** Concurrent processes take turns: two that create the same queue at once can deadlock. */
export async function prepare(pool: pg.Pool, boss?: PgBoss): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [lock]);
    await client.query(tables);
    await ensureInboxTables(client);
    await createTables(client);
    await boss?.start();
    // How long the jobs of a killed process stay locked. A handler that takes longer runs twice.
    await boss?.createQueue("loyalty", { expireInSeconds: 60 });
  } finally {
    client.release(true); // closing the connection releases the lock
  }
}

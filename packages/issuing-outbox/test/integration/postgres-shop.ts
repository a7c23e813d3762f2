/** A shop with an outbox in a PostgreSQL schema of its own, for the tests of a file. */
import { ownSchema } from "@loyalty-cards/testing/servers";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from "vitest";
import type { OutboxOutcome } from "../../src/index.ts";
import {
  ensureOutboxTables,
  type PostgresOutboxOptions,
  postgresOutbox,
} from "../../src/postgres.ts";
import { createNetwork, templateId, toEntry } from "../shop.ts";

/**
 * Calls `before` with the text of each statement of pg, until the end of the test. The statement
 * waits for it.
 */
export function beforeQueries(before: (text: string) => unknown) {
  const { query } = pg.Client.prototype;
  onTestFinished(() => void Object.assign(pg.Client.prototype, { query }));
  pg.Client.prototype.query = async function (this: pg.Client, ...values: unknown[]) {
    await before(String(values[0]));
    return Reflect.apply(query, this, values);
  } as typeof query;
}

/** An empty PostgreSQL with users, and a shop with an outbox in it. */
export function openPostgres() {
  const { pool: createPool, schema, url } = ownSchema();
  const pool = createPool(16);
  const sql = postgres(url, {
    connection: { search_path: schema },
    max: 8,
    onnotice: () => {},
    fetch_types: false,
  });
  afterAll(() => sql.end());
  beforeAll(async () => {
    await Promise.all([
      ensureOutboxTables(pool),
      ensureOutboxTables(pool),
      ensureOutboxTables(sql as never),
    ]);
    await pool.query("CREATE TABLE users (id text PRIMARY KEY, card text)");
  });
  beforeEach(async () => {
    await pool.query(
      "TRUNCATE users, issuing_outbox_entries, issuing_outbox_entries_bodies, issuing_outbox_entries_breakers, issuing_outbox_entries_failures, issuing_outbox_settings",
    );
  });

  function openPostgresShop(
    network = createNetwork(),
    options: Partial<PostgresOutboxOptions<pg.PoolClient>> = {},
  ) {
    const outcomes: OutboxOutcome[] = [];
    const outbox = postgresOutbox<pg.PoolClient>({
      client: network.createClient(),
      pool,
      onIssued: ({ userId, cardId }, transaction) =>
        transaction.query("UPDATE users SET card = $1 WHERE id = $2", [cardId, userId]),
      onOutcome: (outcome) => outcomes.push(outcome),
      log: () => {},
      ...options,
    } as PostgresOutboxOptions<pg.PoolClient>);
    onTestFinished(() => outbox.close({ graceMs: 0 }));
    const signUp = (userId: string, request = toEntry(userId).request) =>
      outbox.write(async (transaction) => {
        await transaction.query("INSERT INTO users (id) VALUES ($1)", [userId]);
        return outbox.add(transaction, { userId, template: templateId, request });
      });
    return { ...network, outbox, outcomes, signUp };
  }

  const isWaiting =
    "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
  const untilOneWaits = () =>
    expect.poll(async () => (await pool.query(isWaiting, [schema])).rowCount).toBe(1);
  const readUsers = async () =>
    (
      await pool.query<{ id: string; card: string | null }>(
        "SELECT id, card FROM users ORDER BY id",
      )
    ).rows;
  return { createPool, schema, url, pool, sql, openPostgresShop, untilOneWaits, readUsers };
}

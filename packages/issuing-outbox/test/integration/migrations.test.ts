/**
 * The tables in a real PostgreSQL: missing and created, by the files in `migrations/postgres` and
 * by `ensureOutboxTables`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { ensureOutboxTables, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, toEntry } from "../shop.ts";

const folder = new URL("../../migrations/postgres/", import.meta.url);
const migrations = readdirSync(folder)
  .sort()
  .map((name) => readFileSync(new URL(name, folder), "utf8"))
  .join("\n");

describe.skipIf(!(await hasPostgres()))("in PostgreSQL", () => {
  const { pool: createPool, schema, url } = ownSchema();
  const pool = createPool(2);

  async function createSchema(name: string): Promise<pg.Pool> {
    const other = `${schema}_${name}`;
    await pool.query(`CREATE SCHEMA ${other}`);
    const own = new pg.Pool({ connectionString: url, options: `-c search_path=${other}`, max: 2 });
    onTestFinished(async () => {
      await own.end();
      await pool.query(`DROP SCHEMA ${other} CASCADE`);
    });
    return own;
  }

  it("says that the tables are missing, and goes on when they are created", async () => {
    const empty = await createSchema("empty");
    const network = createNetwork();
    const outbox = postgresOutbox({ client: network.createClient(), pool: empty, log: () => {} });
    await expect(outbox.count()).rejects.toThrow("call ensureOutboxTables(pool)");
    await empty.query(migrations);
    await outbox.addAll([toEntry(1)]);
    expect(await outbox.drain()).toMatchObject({ issued: 1 });
    await empty.query("UPDATE issuing_outbox_settings SET version = 9");
    await ensureOutboxTables(empty);
    await expect(outbox.drain({ maxMs: 300 })).resolves.toMatchObject({ issued: 1 });
    const other = postgresOutbox({ client: network.createClient(), pool: empty });
    await expect(other.count()).rejects.toThrow(/tables .* are of version 9, .*: update @/);
    await empty.query("UPDATE issuing_outbox_settings SET version = 1");
    await expect(other.count()).rejects.toThrow(/of version 1, .*: it does not upgrade them/);
  });

  it("may be used by a role that cannot create tables", async () => {
    const own = await createSchema("roles");
    await ensureOutboxTables(own);
    const role = `${schema}_app`;
    await own.query(`CREATE ROLE ${role} LOGIN`);
    const name = own.options.options?.split("search_path=")[1];
    await own.query(`GRANT USAGE ON SCHEMA ${name} TO ${role}`);
    await own.query(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${role}`,
    );
    const app = new pg.Pool({
      connectionString: url,
      options: `-c search_path=${name} -c role=${role}`,
      max: 2,
    });
    onTestFinished(async () => {
      await app.end();
      await pool.query(`DROP OWNED BY ${role}`);
      await pool.query(`DROP ROLE ${role}`);
    });
    await ensureOutboxTables(app);
    const outbox = postgresOutbox({
      client: createNetwork().createClient(),
      pool: app,
      log: () => {},
    });
    await outbox.addAll([toEntry(1)]);
    expect(await outbox.drain()).toMatchObject({ issued: 1, paused: [] });
  });

  it("heals tables that a test suite emptied", async () => {
    const own = await createSchema("emptied");
    await ensureOutboxTables(own);
    const { rows } = await own.query<{ tablename: string }>(
      "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
    );
    await own.query(`TRUNCATE ${rows.map(({ tablename }) => tablename).join()}`);
    await ensureOutboxTables(own);
    const outbox = postgresOutbox({
      client: createNetwork().createClient(),
      pool: own,
      log: () => {},
    });
    await outbox.addAll([toEntry(1)]);
    expect(await outbox.issue(1)).toMatchObject({ state: "issued" });
  });

  it("has the same tables from the files and from ensureOutboxTables, which several processes run at once", async () => {
    const readTables = async (from: pg.Pool) => {
      const columns = await from.query(
        `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name LIKE 'issuing\\_outbox\\_%' ORDER BY table_name, column_name`,
      );
      const indexes = await from.query(
        `SELECT replace(indexdef, current_schema(), '') FROM pg_indexes
         WHERE schemaname = current_schema() AND tablename LIKE 'issuing\\_outbox\\_%' ORDER BY indexname`,
      );
      return [...columns.rows, ...indexes.rows];
    };
    const found = await Promise.all(
      [ensureOutboxTables, (own: pg.Pool) => own.query(migrations)].map(async (way, index) => {
        const own = await createSchema(`created_${index}`);
        await Promise.all([way(own), way(own)]);
        return readTables(own);
      }),
    );
    expect(found[0]?.length).toBeGreaterThan(25);
    const advice = "migrations/postgres must create the tables of internal/jobs/tables.ts";
    expect(found[1], advice).toEqual(found[0]);
  });
});

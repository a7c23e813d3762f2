/** The tables in a real PostgreSQL: missing and created, by the files in `migrations/postgres` and by `ensureTables`. */
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, ownSchema } from "../../../webhook-inbox/test/servers.ts";
import { ensureTables, postgresOutbox } from "../../src/postgres.ts";
import { createNetwork, nextPhone, template, toRequest } from "../shop.ts";

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
    await expect(outbox.count()).rejects.toThrow("issuing_outbox");
    await empty.query(migrations);
    await outbox.addAll([{ userId: 1, template, request: toRequest({ phone: nextPhone() }) }]);
    expect(await outbox.drain()).toMatchObject({ issued: 1 });
    await empty.query("INSERT INTO issuing_outbox_schema (version) VALUES (9)");
    await expect(ensureTables(empty)).rejects.toThrow("newer version");
    await expect(outbox.drain({ maxMs: 300 })).resolves.toMatchObject({ issued: 1 });
  });

  it("has the same tables from the files and from ensureTables, which several processes run at once", async () => {
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
      [ensureTables, (own: pg.Pool) => own.query(migrations)].map(async (way, index) => {
        const own = await createSchema(`created_${index}`);
        await Promise.all([way(own), way(own)]);
        return readTables(own);
      }),
    );
    expect(found[0]?.length).toBeGreaterThan(50);
    expect(found[1]).toEqual(found[0]);
  });
});

/** The database of a shop under judgement: reads a SQLite file, or creates an empty PostgreSQL database. */
import { randomUUID } from "node:crypto";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import pg from "pg";
import { SettingsError } from "./settings.ts";

/** @throws {SettingsError} when the query fails. */
export function readSqlite(file: string, sql: string): unknown[] {
  const database = openSqlite(file);
  try {
    database.exec("PRAGMA busy_timeout = 5000");
    return database.prepare(sql).all();
  } catch (error) {
    throw new SettingsError(`members.sql failed in the file SHOP_FILE: ${(error as Error).message}`);
  } finally {
    database.close();
  }
}

/** An empty database, beside the one that `DATABASE_URL` names. */
export async function createDatabase() {
  const admin = process.env["DATABASE_URL"] ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
  const name = `judge_${randomUUID().replaceAll("-", "")}`;
  const run = async (connectionString: string, sql: string) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    return client.query(sql).finally(() => client.end());
  };
  await run(admin, `CREATE DATABASE ${name}`).catch((error: Error) => {
    throw new SettingsError(`PostgreSQL at DATABASE_URL: ${error.message}`);
  });
  const url = Object.assign(new URL(admin), { pathname: `/${name}` }).href;
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  return {
    url,
    query: async (sql: string): Promise<unknown[]> => {
      try {
        return (await pool.query(sql)).rows;
      } catch (error) {
        throw new SettingsError(`members.sql failed: ${(error as Error).message}`);
      }
    },
    async drop() {
      await pool.end();
      await run(admin, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

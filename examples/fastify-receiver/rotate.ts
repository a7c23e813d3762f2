/** `npm run rotate`: reads from standard input the secret that the console showed, and gives it to the fleet. */
// #region rotate
import { text } from "node:stream/consumers";
import pg from "pg";
import { saveSecret } from "./secrets.ts";
import { prepare } from "./tables.ts";

const { DATABASE_URL, DATABASE_SCHEMA = "public" } = process.env;
const pool = new pg.Pool({
  connectionString: DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres",
  options: `-c search_path=${DATABASE_SCHEMA}`,
});
await prepare(pool);
await saveSecret(pool, (await text(process.stdin)).trim()); // not an argument: those show in lists of processes
await pool.end();
console.log("Saved. The secret before it counts for ten more minutes.");
// #endregion

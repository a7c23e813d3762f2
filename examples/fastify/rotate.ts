/** `npm run rotate`: reads from standard input the secret that the console showed, and gives it to the fleet. `-- --leaked` ends the old one. */
import { text } from "node:stream/consumers";
import pg from "pg";
import { saveSecret } from "./secrets.ts";
import { prepare } from "./tables.ts";

const { DATABASE_URL, DATABASE_SCHEMA = "public" } = process.env;
const pool = new pg.Pool({
  connectionString:
    DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres",
  options: `-c search_path=${DATABASE_SCHEMA}`,
});
await prepare(pool);
const hasLeaked = process.argv.includes("--leaked");
await saveSecret(pool, (await text(process.stdin)).trim(), { hasLeaked }); // not an argument: those show in lists of processes
await pool.end();
console.log(
  hasLeaked
    ? "Saved. Within five minutes no process accepts the previous secret."
    : "Saved. The previous secret is accepted for ten more minutes.",
);

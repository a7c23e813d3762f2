/**
 * The signing secrets are in the database, so that every process finds a new one without a restart.
 * `npm run rotate` saves the secret that the console showed; `-- --leaked` ends the old one.
 */
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Secret } from "@loyalty-cards/webhook-verify";
import pg from "pg";
import { prepare } from "./tables.ts";

/**
 * How long the old secret stays valid: until the last retry of a delivery that may be
 * signed with it. Longer than `secretMaxAgeSeconds`, so that every process knows the end
 * before it is reached.
 */
const overlapHours = 9;

/**
 * For the receiver's option `secret`. The receiver caches the result for five
 * minutes, and calls it again after a mismatch.
 */
export async function currentSecrets(pool: pg.Pool): Promise<Secret[]> {
  const { rows } = await pool.query(
    `SELECT id, key, not_after FROM signing_secrets
      WHERE not_after IS NULL OR not_after > now() ORDER BY id DESC`,
  );
  return rows.map(({ id, key, not_after: notAfter }) => ({
    // in each outcome: shows when the old secret is no longer used
    id: `secret ${id}`,
    key,
    ...(notAfter !== null && { notAfter }),
  }));
}

/**
 * Saves the secret that the console showed after "New secret". The old one stays
 * valid for a while. A leaked one ends immediately: each process rejects it after
 * its next look-up, within five minutes.
 */
export async function saveSecret(
  pool: pg.Pool,
  key: string,
  { hasLeaked = false } = {},
): Promise<void> {
  if (key === "") throw new TypeError("The new secret is empty.");
  await pool.query(
    `WITH before AS (
       UPDATE signing_secrets
       SET not_after = LEAST(not_after, now() + make_interval(hours => $2))
       WHERE key <> $1
     )
     INSERT INTO signing_secrets (key) VALUES ($1)
     ON CONFLICT (key) DO UPDATE SET not_after = NULL`,
    [key, hasLeaked ? 0 : overlapHours],
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { DATABASE_URL, DATABASE_SCHEMA = "public" } = process.env;
  const pool = new pg.Pool({
    connectionString:
      DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres",
    options: `-c search_path=${DATABASE_SCHEMA}`,
  });
  await prepare(pool);
  const hasLeaked = process.argv.includes("--leaked");
  const secret = (await text(process.stdin)).trim(); // lists of processes show arguments
  await saveSecret(pool, secret, { hasLeaked });
  await pool.end();
  console.log(
    hasLeaked
      ? "Saved. Within five minutes no process accepts the previous secret."
      : "Saved. The previous secret is accepted for nine more hours.",
  );
}

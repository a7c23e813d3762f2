/** The signing secrets of the fleet, in the database, so that every process finds a new one without a restart. */
// #region secrets
import type { Secret } from "@loyalty-cards/webhook-verify";
import type pg from "pg";

/**
 * What was signed with the old secret a moment ago is still on its way. More than `secretMaxAgeSeconds`, so that every process
 * has learned the end before it comes.
 */
const overlapMinutes = 10;

/** For the receiver's `secret`: it uses the result for five minutes at most, and asks again when a signature does not match. */
export async function currentSecrets(pool: pg.Pool): Promise<Secret[]> {
  const { rows } = await pool.query(
    "SELECT id, key, not_after FROM signing_secrets WHERE not_after IS NULL OR not_after > now() ORDER BY id DESC",
  );
  return rows.map(({ id, key, not_after: notAfter }) => ({
    id: `secret ${id}`, // told with each delivery, so that you see when the old one has gone
    key,
    ...(notAfter !== null && { notAfter }),
  }));
}

/**
 * What the console showed at "New secret". The one before it counts for a while; one that has leaked must not, so it ends at
 * once: each process refuses it when it next asks, within five minutes.
 */
export async function saveSecret(pool: pg.Pool, key: string, { hasLeaked = false } = {}): Promise<void> {
  if (key === "") throw new TypeError("The new secret is empty.");
  await pool.query(
    `WITH before AS (
       UPDATE signing_secrets SET not_after = LEAST(not_after, now() + make_interval(mins => $2)) WHERE key <> $1
     )
     INSERT INTO signing_secrets (key) VALUES ($1) ON CONFLICT (key) DO NOTHING`,
    [key, hasLeaked ? 0 : overlapMinutes],
  );
}
// #endregion

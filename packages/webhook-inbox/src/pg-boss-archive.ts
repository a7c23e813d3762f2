/** The archive of pg-boss 10: rejects settings that lose events, and moves dead letters back to the jobs. */
import { validateRetention } from "./options.ts";

/** The part of pg-boss 10's configuration that its `db` exposes; a custom `db` exposes nothing. */
export interface PgBossConfig {
  schema?: string;
  archiveSeconds?: number;
  /** A PostgreSQL interval, such as `7 days`. */
  deleteAfter?: string;
}

type Rows = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** Dead letters are moved back when the inbox is used: it must be used once in this time. */
const minDeleteAfterSeconds = 24 * 3600;
const restoreIntervalMs = 3_600_000;

/** @throws {TypeError} for settings under which a duplicate would be a new event, or a dead letter would be deleted. */
export async function checkArchive(rows: Rows, { archiveSeconds, deleteAfter }: PgBossConfig): Promise<void> {
  if (archiveSeconds === undefined) {
    throw new TypeError(
      "With a custom db, pg-boss 10 does not expose when it archives jobs: pass archiveCompletedAfterSeconds here too.",
    );
  }
  // pg-boss does not look for duplicates in the archive.
  validateRetention("archiveCompletedAfterSeconds of pg-boss", archiveSeconds);
  if (deleteAfter === undefined) return;
  const [row = {}] = await rows("SELECT extract(epoch FROM $1::interval) AS seconds", [deleteAfter]);
  if (Number(row["seconds"]) >= minDeleteAfterSeconds) return;
  throw new TypeError(
    `pg-boss deletes archived jobs after ${deleteAfter}, dead letters too; create it with a deleteAfterSeconds of at least ${minDeleteAfterSeconds} (one day).`,
  );
}

/**
 * pg-boss 10 moves ended jobs to its archive, by default after twelve hours, and deletes them there after seven days. This
 * moves dead letters back to the jobs, without a `completed_on`, so that they are not archived again.
 */
export function createArchive(rows: Rows, schema: string, queue: string) {
  const columns =
    "id, name, priority, data, state, retry_limit, retry_count, retry_delay, retry_backoff, start_after, started_on, " +
    "singleton_key, singleton_on, expire_in, created_on, keep_until, dead_letter, policy, output";
  // Reads only what was archived since the last call, which an index finds. The ten minutes cover the longest maintenance.
  const statement = `WITH archived AS (
      DELETE FROM ${schema}.archive WHERE name = $1 AND state IN ('failed', 'cancelled')
        AND archived_on > $2::timestamptz - interval '10 minutes' RETURNING ${columns}
    ), restored AS (
      INSERT INTO ${schema}.job (${columns}) SELECT ${columns} FROM archived ON CONFLICT DO NOTHING
    ) SELECT now()::text AS restored_at`;
  let restoredAt = "-infinity";
  let restoredAtMs = Number.NEGATIVE_INFINITY;

  async function restore(): Promise<void> {
    restoredAtMs = performance.now();
    const [row = {}] = await rows(statement, [queue, restoredAt]);
    restoredAt = row["restored_at"] as string;
  }
  return {
    restore,
    /** Restores in the background at most once an hour, for an inbox that is neither listed nor replayed. */
    restoreHourly(): void {
      if (performance.now() - restoredAtMs > restoreIntervalMs) void restore().catch(() => {});
    },
  };
}

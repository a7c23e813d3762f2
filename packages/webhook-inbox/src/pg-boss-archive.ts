/** The archive of pg-boss 10: which settings of it would lose events, and how dead letters come back from it. */
import { checkedRetention } from "./retention.ts";

/** As much of pg-boss 10's configuration as its `db` shows; a `db` of the user's own shows nothing. */
export interface PgBossConfig {
  schema?: string;
  archiveSeconds?: number;
  /** An interval in PostgreSQL's words, such as `7 days`. */
  deleteAfter?: string;
}

type Rows = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

/** Dead letters come back whenever the inbox is used; this is how rarely that may be. */
const leastDeleteAfterSeconds = 24 * 3600;
const restoreEveryMs = 3_600_000;

/** @throws {TypeError} for settings under which a duplicate would be a new event, or a dead letter would vanish. */
export async function checkArchive(rows: Rows, { archiveSeconds, deleteAfter }: PgBossConfig): Promise<void> {
  if (archiveSeconds === undefined) {
    throw new TypeError(
      "With a db of your own, pg-boss 10 does not tell when it archives jobs: pass archiveCompletedAfterSeconds here too.",
    );
  }
  // In the archive pg-boss does not look for duplicates.
  checkedRetention("archiveCompletedAfterSeconds of pg-boss", archiveSeconds);
  if (deleteAfter === undefined) return;
  const [row = {}] = await rows("SELECT extract(epoch FROM $1::interval) AS seconds", [deleteAfter]);
  if (Number(row["seconds"]) >= leastDeleteAfterSeconds) return;
  throw new TypeError(
    `pg-boss deletes what it archived after ${deleteAfter}, dead letters too; make it with a deleteAfterSeconds of at least ${leastDeleteAfterSeconds} (one day).`,
  );
}

/**
 * pg-boss 10 moves ended jobs to its archive, by default after twelve hours, and deletes them there after seven days. Brings
 * dead letters back among the jobs, without a `completed_on`, so that they stay.
 */
export function archivedDeadLetters(rows: Rows, schema: string, queue: string) {
  const columns =
    "id, name, priority, data, state, retry_limit, retry_count, retry_delay, retry_backoff, start_after, started_on, " +
    "singleton_key, singleton_on, expire_in, created_on, keep_until, dead_letter, policy, output";
  // Only what was archived since the last time, which an index finds; the pause is longer than any maintenance takes.
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
    /** For an inbox whose dead letters nobody asks for: no call waits for it, and after a failure the next try is an hour later. */
    restoreHourly(): void {
      if (performance.now() - restoredAtMs > restoreEveryMs) void restore().catch(() => {});
    },
  };
}

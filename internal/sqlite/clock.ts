/** The clock of a SQLite file: the computer's, corrected so that it never goes back in any process that uses the file. */
import type { SqliteDatabase } from "./database-node.ts";

export interface DatabaseClock {
  /** The current time in milliseconds, never earlier than the latest that the file has recorded. */
  nowMs(): number;
  /** Writes the current time to the file: called at the start of each transaction. */
  record(): void;
}

/**
 * Because of this, setting the computer's clock back neither delays new entries nor extends pauses and leases.
 * @param table has a row with `id` 1, and the latest recorded time in `latest_at`.
 */
export function createDatabaseClock(
  database: SqliteDatabase,
  table: string,
  now: () => number,
): DatabaseClock {
  const read = database.prepare(`SELECT latest_at FROM ${table} WHERE id = 1`);
  const write = database.prepare(`UPDATE ${table} SET latest_at = ? WHERE id = 1`);
  let correctionMs = 0;

  function times(): { latestMs: number; nowMs: number } {
    const clockMs = validateTime(now());
    const { latest_at: latestMs } = read.get() as { latest_at: number };
    correctionMs = Math.max(correctionMs, latestMs - clockMs);
    return { latestMs, nowMs: clockMs + correctionMs };
  }

  return {
    nowMs: () => times().nowMs,
    record() {
      const { latestMs, nowMs } = times();
      if (nowMs > latestMs) write.run(nowMs);
    },
  };
}

/** @throws {TypeError} for anything but a finite number. */
export function validateTime(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const actual = typeof value === "number" ? String(value) : `a value of type ${typeof value}`;
  throw new TypeError(`now must return the current time as a number of milliseconds; it returned ${actual}.`);
}

/** Settles a job as an outbox does that has no callback. */
import { type End, settleAttempt, settleTopic } from "../jobs/settle.ts";
import type { JobTables, LeasedJob } from "../jobs/tables.ts";

/** Records how an attempt ended, and what it says of its topic. */
export function* settleJob(tables: JobTables, job: LeasedJob, end: End) {
  const row = yield* settleAttempt(tables, job, end);
  const breaker = yield* settleTopic(tables, job, { end, row });
  return { job: row.job, breaker };
}

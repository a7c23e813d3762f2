/** Bulk issuing on several machines with PostgreSQL: a job of pg-boss per chunk. */
// #region bulk-pg-boss
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import type PgBoss from "pg-boss"; // pg-boss 12: import type { PgBoss } from "pg-boss"
import { type Chunk, issueChunk, type Members, toChunks } from "./bulk.ts";

const name = "issue-cards";

/** On one machine, once. */
export async function queueMembers(
  boss: PgBoss,
  ids: readonly string[],
  { chunkSize = 500, leaseSeconds = 900, retrySeconds = 60 } = {},
): Promise<void> {
  await boss.createQueue(name, { name });
  // The chunk of a machine that died is repeated after its lease. A long outage takes many leases.
  const options = { retryLimit: 100, retryDelay: retrySeconds, expireInSeconds: leaseSeconds };
  await boss.insert([...toChunks(ids, chunkSize)].map((data) => ({ name, data, ...options })));
}

/** On each machine. */
export async function workOnMembers(
  boss: PgBoss,
  loyalty: IssuingClient,
  template: string,
  members: Members,
): Promise<void> {
  await boss.work<Chunk>(name, { pollingIntervalSeconds: 0.5 }, async ([job]) => {
    if (job === undefined) return;
    // Ends before the lease does: pg-boss then repeats the job, and stops no run.
    const signal = AbortSignal.timeout(job.expireInSeconds * 900);
    await issueChunk(loyalty, template, members, job.data, signal);
  });
}
// #endregion

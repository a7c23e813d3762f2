/** Bulk issuing on several machines with PostgreSQL: a job of pg-boss per chunk. */
// #region bulk-pg-boss
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import type PgBoss from "pg-boss"; // pg-boss 12: import type { PgBoss } from "pg-boss"
import { type Chunk, issueChunk, type Members, toChunks } from "./bulk.ts";

const name = "issue-cards";

/** On one machine, once. */
export async function queueMembers(boss: PgBoss, ids: readonly string[], chunkSize?: number): Promise<void> {
  await boss.createQueue(name, { name });
  // The lease of a chunk is 15 minutes; the chunk of a machine that died is repeated after it.
  const options = { retryLimit: 20, retryDelay: 60, expireInSeconds: 900 };
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
    if (job !== undefined) await issueChunk(loyalty, template, members, job.data);
  });
}
// #endregion

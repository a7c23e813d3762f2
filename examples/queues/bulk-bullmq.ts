/** Bulk issuing on several machines with Redis: a job of BullMQ per chunk. */
// #region bulk-bullmq
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import { type Queue, Worker } from "bullmq";
import { type Chunk, issueChunk, type Members, toChunks } from "./bulk.ts";

/** On one machine, once. */
export async function queueMembers(
  queue: Queue<Chunk>,
  ids: readonly string[],
  chunkSize?: number,
): Promise<void> {
  const opts = { attempts: 20, backoff: { type: "fixed", delay: 60_000 }, removeOnComplete: true };
  await queue.addBulk([...toChunks(ids, chunkSize)].map((data) => ({ name: "chunk", data, opts })));
}

/** On each machine. The chunk of a machine that died is stalled, and repeated after 30 seconds. */
export function workOnMembers(
  queue: Queue<Chunk>,
  loyalty: IssuingClient,
  template: string,
  members: Members,
): Worker<Chunk> {
  return new Worker<Chunk>(queue.name, ({ data }) => issueChunk(loyalty, template, members, data), {
    ...queue.opts,
    concurrency: 1,
    maxStalledCount: 10,
  });
}
// #endregion

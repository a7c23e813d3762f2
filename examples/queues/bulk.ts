/** Bulk issuing on several machines: the job of one chunk of members. */
// #region chunk
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import { issueCards } from "@loyalty-cards/issuing-client/bulk";

export interface Member {
  id: string;
  name: string;
  phone: string;
  privacyVersion: string;
}

export interface Members {
  /**
   * The members that have neither a card nor an error. Stores the current time as their first attempt, unless there was one; when that was
   * 24 hours ago, stores the error `idempotency-expired` instead.
   */
  claim(ids: string[]): Promise<Member[]>;
  saveCard(id: string, cardId: string): Promise<void>;
  saveError(id: string, code: string): Promise<void>;
}

/** A job has ids only: no personal data is in the queue. Members with the same phone belong in the same chunk. */
export interface Chunk {
  ids: string[];
}

/**
 * Rejects when a card may be missing, so that the queue repeats the job: with the same keys, and without members that have a card.
 * @param signal ends the run, for a queue that gives the chunk to another machine after some time.
 */
export async function issueChunk(
  loyalty: IssuingClient,
  template: string,
  members: Members,
  { ids }: Chunk,
  signal?: AbortSignal,
): Promise<void> {
  const rows = (await members.claim(ids)).map(({ id, name, phone, privacyVersion }) => ({
    userId: id,
    request: {
      fieldValues: { name },
      customer: { name, phone, consents: { privacy: { version: privacyVersion } } },
    },
  }));
  let unknown = 0;
  for await (const result of issueCards(loyalty, rows, { template, concurrency: 8, signal })) {
    const { userId } = result.row;
    if (result.status === "issued") await members.saveCard(userId, result.card.id);
    else if (result.status === "rejected") await members.saveError(userId, result.error.code);
    else unknown += 1;
  }
  if (unknown > 0) throw new Error(`${unknown} cards may not be issued; the queue repeats the chunk.`);
}

export function* toChunks(ids: readonly string[], size = 500): Generator<Chunk> {
  for (let start = 0; start < ids.length; start += size) yield { ids: ids.slice(start, start + size) };
}
// #endregion

/** `add` and `addAll`: entries of users who are owed a card. */

import { createTypeError } from "@loyalty-cards/internal/errors";
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { addJob, addJobs, type NewJob } from "@loyalty-cards/internal/jobs/add";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import type { OutboxContext } from "./context.ts";
import type { OutboxState, OwedCard } from "./entry.ts";
import { parseNewEntry, requireOpen } from "./job.ts";

/** How many entries are added in one transaction. */
const batchSize = 200;
/** An entry of `add` is due for workers after this time, so that `issue` has it first. */
const addDelayMs = 1_000;

/** The statements of `add`, for the user's transaction. */
export function* add<Fields>(
  context: OutboxContext,
  entry: OwedCard<Fields>,
): Statements<"added" | OutboxState> {
  requireOpen(context);
  context.workerWatch.lookLater();
  const known = yield* addJob(context.tables, parseNewEntry(context.client, entry), addDelayMs);
  return known === undefined ? "added" : (known.state as OutboxState);
}

export async function addAll<Fields>(
  context: OutboxContext,
  entries: Iterable<OwedCard<Fields>> | AsyncIterable<OwedCard<Fields>>,
): Promise<{ added: number; known: number }> {
  requireOpen(context);
  if (!(Symbol.iterator in Object(entries) || Symbol.asyncIterator in Object(entries)))
    throw createTypeError(
      "outbox.addAll takes a list of entries: outbox.addAll([{ userId, template, request }]).",
    );
  const { database, tables, client } = context;
  const counts = { added: 0, known: 0 };
  for await (const batch of toBatches(client, entries)) {
    const added = await database.transact(() => addJobs(tables, batch));
    counts.added += added;
    counts.known += batch.length - added;
  }
  context.workerWatch.lookLater(); // a drain that follows a long list is in time
  return counts;
}

/** @throws for an invalid entry. The batches before it were complete. */
async function* toBatches<Fields>(
  client: IssuingSteps<unknown>,
  entries: Iterable<OwedCard<Fields>> | AsyncIterable<OwedCard<Fields>>,
): AsyncGenerator<NewJob[]> {
  let batch: NewJob[] = [];
  for await (const entry of entries) {
    batch.push(parseNewEntry(client, entry));
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

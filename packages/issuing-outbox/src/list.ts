/** `list`: entries in the order in which they were added, read page by page. */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { listJobs } from "@loyalty-cards/internal/jobs/read";
import { type OptionNames, requireKnownOptions } from "@loyalty-cards/internal/known-options";
import { endless, requireInteger } from "@loyalty-cards/internal/limits";
import { setRealImmediate } from "@loyalty-cards/internal/timers";
import type { OutboxContext } from "./context.ts";
import type { OutboxEntry, OutboxState } from "./entry.ts";
import { findJob, parseJobRef, requireOpen, toEntry } from "./job.ts";
import type { ListOptions } from "./outbox.ts";

/** How many entries are read at once. */
const pageSize = 200;

const states: readonly unknown[] = [
  "waiting",
  "issued",
  "rejected",
  "unknown",
] satisfies OutboxState[];

const optionNames = {
  state: true,
  limit: true,
  after: true,
} satisfies OptionNames<ListOptions>;

export async function* list(
  context: OutboxContext,
  options: ListOptions = {},
): AsyncGenerator<OutboxEntry, void> {
  requireKnownOptions("list", options, optionNames);
  const { state, limit = endless, after } = options;
  if (state !== undefined && !states.includes(state))
    throw createTypeError('state must be "waiting", "issued", "rejected" or "unknown".');
  requireInteger("limit", limit, 0, endless);
  requireOpen(context);

  const { database, tables } = context;
  let lastId = after === undefined ? 0 : await findId(context, after);
  for (let left = limit; left > 0; left -= pageSize) {
    const size = Math.min(left, pageSize);
    const page = await database.runEach(() =>
      listJobs(tables, { state }, { afterId: lastId, limit: size }),
    );
    for (const job of page) yield toEntry(job);
    if (page.length < size) return;
    lastId = page.at(-1)?.id ?? lastId;
    // SQLite is synchronous: a long list must not stop the process.
    await new Promise((resolve) => setRealImmediate(resolve));
  }
}

async function findId(
  context: OutboxContext,
  after: NonNullable<ListOptions["after"]>,
): Promise<number> {
  const jobRef = parseJobRef(context, after.userId, after);
  const job = await context.database.runEach(() => findJob(context.tables, jobRef));
  if (job === undefined) throw createTypeError("after is not an entry of this outbox.");
  return job.id;
}

/**
 * `list`: entries in the order in which they were added, read page by page. `count`: how many have
 * each state, and the times to monitor.
 */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { listBreakers } from "@loyalty-cards/internal/jobs/breaker";
import { countJobs, listJobs } from "@loyalty-cards/internal/jobs/read";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { keyLifetimeMs } from "@loyalty-cards/internal/key-retention";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { endless, requireInteger } from "@loyalty-cards/internal/limits";
import { setRealImmediate } from "@loyalty-cards/internal/timers";
import type { OutboxContext } from "./context.ts";
import type { OutboxCounts, OutboxEntry, OutboxState } from "./entry.ts";
import { findJob, parseJobRef, requireOpen, toEntry, toPause } from "./job.ts";
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
  requireKnownNames("list", options, optionNames);
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

export function* countEntries({ tables, client }: OutboxContext): Statements<OutboxCounts> {
  const { states, callbacks, oldestWaitingMs, oldestAttemptMs } = yield* countJobs(tables);
  const breakers = yield* listBreakers(tables);
  const counts: OutboxCounts = {
    waiting: states["waiting"] ?? 0,
    issued: states["issued"] ?? 0,
    rejected: states["rejected"] ?? 0,
    unknown: states["unknown"] ?? 0,
    undelivered: callbacks,
    paused: breakers.map(toPause),
  };
  if (oldestWaitingMs !== undefined) counts.oldestWaitingMs = oldestWaitingMs;
  if (oldestAttemptMs !== undefined) {
    // The time is on the clock of this process, because a program compares it with that clock.
    const leftMs = keyLifetimeMs - client.deadlineMs - oldestAttemptMs;
    counts.nextExpiryAt = new Date(client.clock.now() + leftMs);
  }
  return counts;
}

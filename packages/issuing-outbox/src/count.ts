/** `count`: how many entries have each state, and the times to monitor. */

import { listBreakers } from "@loyalty-cards/internal/jobs/breaker";
import { countJobs } from "@loyalty-cards/internal/jobs/read";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { keyLifetimeMs } from "@loyalty-cards/internal/key-retention";
import type { OutboxContext } from "./context.ts";
import type { OutboxCounts } from "./entry.ts";
import { toPause } from "./job.ts";

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

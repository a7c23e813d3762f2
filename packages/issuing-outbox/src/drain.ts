/** `drain`: issues cards until nothing is due. */
import { getLeaseDelayMs } from "@loyalty-cards/internal/jobs/read";
import { maxRestMs } from "@loyalty-cards/internal/jobs/settle";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import {
  endless,
  maxTimerMs,
  requireInteger,
  requireNumber,
  requireSignal,
} from "@loyalty-cards/internal/limits";
import { notify } from "@loyalty-cards/internal/reporting";
import type { OutboxContext, Recorded } from "./context.ts";
import type { OutboxCounts } from "./entry.ts";
import { requireOpen } from "./job.ts";
import { countEntries } from "./list.ts";
import type { DrainOptions } from "./outbox.ts";
import { parseWorkOptions, type Workers } from "./work.ts";

const progressIntervalMs = 100;

const optionNames = {
  concurrency: true,
  maxPerSecond: true,
  maxMs: true,
  maxEntries: true,
  onProgress: true,
  signal: true,
} satisfies OptionNames<DrainOptions>;

export async function drain(
  context: OutboxContext,
  workers: Workers,
  options: DrainOptions = {},
): Promise<OutboxCounts> {
  const { database, tables, client } = context;
  const { maxMs = endless, maxEntries = endless, onProgress, signal } = options;
  requireNumber("maxMs", maxMs, 0, endless);
  requireInteger("maxEntries", maxEntries, 0, endless);
  requireKnownNames("drain", options, optionNames);
  requireSignal(signal);
  const workOptions = parseWorkOptions(options, 32);
  requireOpen(context);

  const before = await database.runEach(() => countEntries(context));
  const limits = {
    maxIdleMs: maxRestMs, // it waits for entries that are due within this time
    maxJobs: signal?.aborted ? 0 : maxEntries,
    endsAtMs: client.clock.monotonicMs() + maxMs,
    getLeaseDelay: () => database.runEach(() => getLeaseDelayMs(tables)),
  };
  const onEnd = onProgress && createProgress(context, before, onProgress);
  const worker = workers.start(workOptions, limits, onEnd);
  const stop = () => void worker.stop(maxTimerMs);
  signal?.addEventListener("abort", stop, { once: true });
  await worker.ended;
  signal?.removeEventListener("abort", stop);

  const counts = await database.runEach(() => countEntries(context));
  notify(onProgress, counts);
  return counts;
}

/**
 * Adds the results of this process to the counts at the start, because counting a million entries
 * takes a moment.
 */
function createProgress(
  { client: { clock } }: OutboxContext,
  counts: OutboxCounts,
  onProgress: (counts: OutboxCounts) => void,
) {
  let reportedAtMs = clock.monotonicMs();
  return ({ entry, isRepeated }: Recorded): void => {
    if (entry !== undefined && entry.state !== "waiting") {
      // Entries that were added since the start may have been issued, too.
      if (isRepeated) counts.undelivered = Math.max(0, counts.undelivered - 1);
      else {
        counts.waiting = Math.max(0, counts.waiting - 1);
        counts[entry.state] += 1;
      }
      if (entry.isDelivered === false) counts.undelivered += 1;
    }
    if (clock.monotonicMs() - reportedAtMs < progressIntervalMs) return;
    reportedAtMs = clock.monotonicMs();
    notify(onProgress, { ...counts });
  };
}

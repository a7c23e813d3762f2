/**
 * Records how an attempt ended, in one transaction with the callback of the shop, and reports it.
 */
import { withJitter } from "@loyalty-cards/internal/jobs/backoff";
import { type End, recordEnd, type Settled } from "@loyalty-cards/internal/jobs/settle";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { type Job, type JobTables, ranks } from "@loyalty-cards/internal/jobs/tables";
import type { OutboxContext, OutboxDatabase, Recorded, ShopCallback } from "./context.ts";
import { isOptionWrong, type StoredCard } from "./entry.ts";
import { lockJob, toEntry, toRef } from "./job.ts";
import type { OutboxOutcome } from "./report.ts";
import { backoff } from "./verdict.ts";

/** How an attempt ended, or what a person found out about an entry. */
interface Ending {
  job: Job;
  end: End;
  /** What is reported when the end is recorded; undefined for nothing. */
  outcome?: OutboxOutcome | undefined;
  /** How long ago the entry ended, when only its callback is repeated. */
  endedForMs?: number;
  /** Records the end: as `settleJob` does for an attempt. */
  settle(end: End): Statements<Settled>;
  /** Runs the transaction in which it is recorded. */
  transact: OutboxDatabase["transact"];
}

/**
 * Records an end in the transaction of its callback. If that fails, also by an error of the
 * database, records it without the callback, which is called later: a card must not be lost.
 */
export async function recordWithCallback(
  context: OutboxContext,
  ending: Ending,
): Promise<Recorded> {
  const { job, end, outcome, endedForMs } = ending;
  const callback = context.callbacks[end.state];
  if (callback === undefined) return record(context, ending);
  let isCalled = false;
  const call: ShopCallback["call"] = (entry, transaction) => {
    isCalled = true;
    return callback.call(entry, transaction);
  };
  try {
    return await record(context, ending, { ...callback, call });
  } catch (error) {
    const retryInMs = withJitter(getCallbackDelayMs(endedForMs), context.random);
    const recorded = await record(context, {
      ...ending,
      end: { ...end, rank: ranks.callback, delayMs: retryInMs },
      outcome: endedForMs === undefined ? outcome : undefined,
    });
    // Nothing is reported when the lease was lost, and the callback succeeded in another process.
    if (recorded.entry?.isDelivered !== false) return recorded;
    // An error of COMMIT counts as the callback's, because its rows may violate a deferred
    // constraint.
    const { name } = callback;
    if (isCalled)
      context.report({
        outcome: "not-delivered",
        entry: toRef(job),
        callback: name,
        error,
        retryInMs,
      });
    else context.report({ outcome: "unavailable", error });
    return recorded;
  }
}

/** The delay doubles with each repetition: it is as long as the time since the entry ended. */
const getCallbackDelayMs = (endedForMs = 0): number =>
  Math.min(backoff.maxDelayMs, Math.max(backoff.initialDelayMs, endedForMs));

/** Commits an end, and reports what was committed. */
async function record(
  { tables, report, logFailure }: OutboxContext,
  ending: Ending,
  callback?: ShopCallback,
): Promise<Recorded> {
  const { end } = ending;
  const { template } = toRef(ending.job);
  const committed = await ending.transact(() => settleAndCall(tables, ending, callback));
  const { breaker, outcome } = committed;
  if (breaker === "opens" && typeof end.finding === "object")
    report({ outcome: "paused", template, reason: end.finding.reason });
  if (breaker === "closes") report({ outcome: "resumed", template });
  if (outcome !== undefined) report(outcome);
  if (outcome?.outcome === "failed" && (breaker === "counts" || isOptionWrong(outcome.error)))
    logFailure(outcome);
  const job = committed.job ?? committed.otherJob;
  if (job === undefined) return {};
  const isRepeated = ending.endedForMs !== undefined;
  return { entry: toEntry(job), retryInMs: end.delayMs ?? 0, isRepeated };
}

/** What one transaction did. */
interface Committed extends Settled {
  /** The job of the user that another transaction has settled. */
  otherJob?: Job;
  outcome?: OutboxOutcome | undefined;
}

/** Settles a job, and calls the callback, if the job is still that of this attempt. */
function* settleAndCall(
  tables: JobTables,
  ending: Ending,
  callback?: ShopCallback,
): Statements<Committed> {
  const { job, ...ofTopic } = yield* ending.settle(ending.end);
  const committed =
    job === undefined
      ? yield* settleWithoutLease(tables, ending)
      : { job, outcome: ending.outcome };
  if (committed.job !== undefined && callback !== undefined) {
    const entry = toEntry(committed.job) as never;
    yield { name: callback.name, call: (transaction) => callback.call(entry, transaction) };
  }
  return { ...committed, ...ofTopic };
}

/**
 * The lease was lost. A card that arrives all the same is that of the entry which the user has now.
 */
function* settleWithoutLease(
  tables: JobTables,
  { job, end, outcome }: Ending,
): Statements<Omit<Committed, "breaker">> {
  const entry = toRef(job);
  if (end.state !== "issued") return { outcome: { outcome: "lease-lost", entry } };
  const { cardId } = end.result as StoredCard;
  const current = yield* lockJob(tables, job);
  if (current === undefined) return { outcome: { outcome: "forgotten-card", cardId } };
  if (current.state !== "issued") {
    const { job: settled } = yield* recordEnd(tables, current, end);
    return { job: settled, outcome };
  }
  const isSame = (current.result as StoredCard).cardId === cardId;
  const another: OutboxOutcome = { outcome: "another-card", entry, cardId };
  return { otherJob: current, outcome: isSame ? undefined : another };
}

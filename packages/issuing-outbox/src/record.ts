/**
 * Records how an attempt ended, in one transaction with the callback of the shop, and reports it.
 */
import { withJitter } from "@loyalty-cards/internal/jobs/backoff";
import { type End, type Settled, settleJob } from "@loyalty-cards/internal/jobs/settle";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import { type Job, type JobTables, ranks } from "@loyalty-cards/internal/jobs/tables";
import type { Callback, OutboxContext, OutboxDatabase, Recorded, ShopCallback } from "./context.ts";
import { isOptionWrong, type StoredCard } from "./entry.ts";
import { lockJob, toEntry, toRef } from "./job.ts";
import type { OutboxOutcome } from "./report.ts";
import { backoff } from "./verdict.ts";

/** An attempt that ended, and in which transaction that is recorded. */
interface EndedAttempt {
  job: Job;
  end: End;
  /** What is reported when the end is recorded; undefined for nothing. */
  outcome?: OutboxOutcome | undefined;
  transact: OutboxDatabase["transact"];
}

/**
 * Records an end in the transaction of its callback. If that fails, also by an error of the
 * database, records it without the callback, which is called later: a card must not be lost.
 */
export async function recordWithCallback(
  context: OutboxContext,
  ended: EndedAttempt,
): Promise<Recorded> {
  const callback = context.callbacks[ended.end.state];
  if (callback === undefined) return record(context, ended);
  const { name, call } = callback;
  let isCalled = false;
  const recordedCall: Callback = (entry, transaction) => {
    isCalled = true;
    return call(entry, transaction);
  };
  try {
    return await record(context, ended, { name, call: recordedCall });
  } catch (error) {
    return postponeCallback(context, ended, { error, callback: isCalled ? name : undefined });
  }
}

/**
 * Records an end without its callback, and when this is called again.
 * @param failure `callback` is undefined when the database failed before its call.
 */
async function postponeCallback(
  context: OutboxContext,
  { job, end, outcome, transact }: EndedAttempt,
  { error, callback }: { error: unknown; callback: ShopCallback["name"] | undefined },
): Promise<Recorded> {
  const isRepeated = job.rank === ranks.callback;
  const retryInMs = withJitter(getCallbackDelayMs(job), context.random);
  const postponed: EndedAttempt = {
    job,
    end: { ...end, rank: ranks.callback, delayMs: retryInMs },
    outcome: isRepeated ? undefined : outcome,
    transact,
  };
  const recorded = await record(context, postponed);
  // Nothing is reported when the lease was lost, and the callback succeeded in another process.
  if (recorded.entry?.isDelivered !== false) return recorded;
  // An error of COMMIT counts as the callback's, because its rows may violate a deferred
  // constraint.
  if (callback === undefined) context.report({ outcome: "unavailable", error });
  else context.report({ outcome: "not-delivered", entry: toRef(job), callback, error, retryInMs });
  return recorded;
}

/** The delay doubles with each repetition: it is as long as the time since the entry ended. */
function getCallbackDelayMs({ rank, leasedAtMs = 0, endedAtMs = 0 }: Job): number {
  const endedForMs = rank === ranks.callback ? leasedAtMs - endedAtMs : 0;
  return Math.min(backoff.maxDelayMs, Math.max(backoff.initialDelayMs, endedForMs));
}

/** Commits an end, and reports what was committed. */
async function record(
  { tables, report, logFailure }: OutboxContext,
  ended: EndedAttempt,
  callback?: ShopCallback,
): Promise<Recorded> {
  const { job, end, transact } = ended;
  const committed = await transact(() => settleAndCall(tables, ended, callback));
  const { template } = toRef(job);
  if (committed.breaker === "opens" && typeof end.finding === "object")
    report({ outcome: "paused", template, reason: end.finding.reason });
  if (committed.breaker === "closes") report({ outcome: "resumed", template });
  if (committed.outcome !== undefined) report(committed.outcome);
  if (committed.outcome?.outcome === "failed") {
    const isLogged = committed.breaker === "counts" || isOptionWrong(committed.outcome.error);
    if (isLogged) logFailure(committed.outcome);
  }
  const current = committed.settled ?? committed.current;
  if (current === undefined) return {};
  const isRepeated = job.rank === ranks.callback;
  return { entry: toEntry(current), retryInMs: end.delayMs ?? 0, isRepeated };
}

/** What one transaction did. */
interface Committed {
  /** The job whose end it recorded. */
  settled?: Job;
  /** The job of the user that another transaction has settled. */
  current?: Job;
  outcome?: OutboxOutcome | undefined;
  breaker?: Settled["breaker"];
}

/** Settles a job, and calls the callback, if the job is still that of this attempt. */
function* settleAndCall(
  tables: JobTables,
  ended: EndedAttempt,
  callback?: ShopCallback,
): Statements<Committed> {
  const { job, end, outcome } = ended;
  const { job: own, breaker } = yield* settleJob(tables, job, end);
  const committed: Committed =
    own === undefined ? yield* settleWithoutLease(tables, ended) : { settled: own, outcome };
  if (committed.settled !== undefined && callback !== undefined) {
    const entry = toEntry(committed.settled) as never;
    yield { name: callback.name, call: (transaction) => callback.call(entry, transaction) };
  }
  return { ...committed, breaker };
}

/**
 * The lease was lost. A card that arrives all the same is that of the entry which the user has now.
 */
function* settleWithoutLease(
  tables: JobTables,
  { job, end, outcome }: EndedAttempt,
): Statements<Committed> {
  const entry = toRef(job);
  const leaseLost: Committed = { outcome: { outcome: "lease-lost", entry } };
  if (end.state !== "issued") return leaseLost;

  const { cardId } = end.result as StoredCard;
  const current = yield* lockJob(tables, job);
  if (current === undefined) return { outcome: { outcome: "forgotten-card", cardId } };
  if (current.state === "issued") {
    const isSame = (current.result as StoredCard).cardId === cardId;
    const other: OutboxOutcome = { outcome: "another-card", entry, cardId };
    return { current, outcome: isSame ? undefined : other };
  }
  const target = { ...job, id: current.id, lease: current.lease };
  const { job: settled } = yield* settleJob(tables, target, end);
  return settled === undefined ? leaseLost : { settled, outcome };
}

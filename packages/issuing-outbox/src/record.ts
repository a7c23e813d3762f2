/**
 * Records how an attempt ended, in one transaction with the callback of the shop, and reports it.
 */
import { withJitter } from "@loyalty-cards/internal/jobs/backoff";
import {
  type End,
  type SettledRow,
  settleAttempt,
  settleRow,
  settleTopic,
} from "@loyalty-cards/internal/jobs/settle";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import {
  type Job,
  type JobTables,
  type LeasedJob,
  ranks,
} from "@loyalty-cards/internal/jobs/tables";
import type { OutboxContext, OutboxDatabase, Recorded, ShopCallback } from "./context.ts";
import type { StoredCard } from "./entry.ts";
import { lockJob, toEntry, toRef } from "./job.ts";
import { isOptionWrong, type OutboxOutcome } from "./outcomes.ts";
import { backoff } from "./verdict.ts";

/** An attempt that ended, or an entry that a person resolves, and how its end is recorded. */
type EndedAttempt = {
  end: End;
  /** What is reported when the end is recorded; undefined for nothing. */
  outcome?: OutboxOutcome | undefined;
  /** How long ago the entry ended whose callback is repeated. Default 0. */
  endedForMs?: number;
  /** Runs the transaction in which it is recorded. */
  transact: OutboxDatabase["transact"];
} & (
  | {
      /** Its rank is `callback` when the entry had ended before: only its callback is repeated. */
      job: LeasedJob;
      recordResolution?: undefined;
    }
  /** What a person found out is recorded without a lease. */
  | { job: Job; recordResolution: (end: End) => Statements<SettledRow> }
);

/**
 * Records an end in the transaction of its callback. If that fails, also by an error of the
 * database, records it without the callback, which is called later: a card must not be lost.
 */
export async function recordEnd(context: OutboxContext, ended: EndedAttempt): Promise<Recorded> {
  const callback = context.callbacks[ended.end.state];
  if (callback === undefined) return commitAndReport(context, ended);
  let isCalled = false;
  const call: ShopCallback["call"] = (entry, transaction) => {
    isCalled = true;
    return callback.call(entry, transaction);
  };
  try {
    return await commitAndReport(context, ended, { ...callback, call });
  } catch (error) {
    // An error of COMMIT counts as the callback's, because its rows may violate a deferred
    // constraint.
    const failed = isCalled ? callback.name : "database";
    return postponeCallback(context, ended, { failed, error });
  }
}

/**
 * Records an end whose callback is called later. It waits as long as has passed since the entry
 * ended, so the delay doubles with each repetition.
 */
async function postponeCallback(
  context: OutboxContext,
  ended: EndedAttempt,
  { failed, error }: { failed: ShopCallback["name"] | "database"; error: unknown },
): Promise<Recorded> {
  const { job, end, outcome, endedForMs = 0 } = ended;
  const delayMs = Math.min(backoff.maxDelayMs, Math.max(backoff.initialDelayMs, endedForMs));
  const retryInMs = withJitter(delayMs, context.random);
  const recorded = await commitAndReport(context, {
    ...ended,
    end: { ...end, rank: ranks.callback, delayMs: retryInMs },
    outcome: job.rank === ranks.callback ? undefined : outcome,
  });
  // Nothing is reported when the lease was lost, and the callback succeeded in another process.
  if (recorded.entry?.isDelivered !== false) return recorded;
  const entry = toRef(job);
  if (failed === "database") context.report({ outcome: "unavailable", error });
  else context.report({ outcome: "not-delivered", entry, callback: failed, error, retryInMs });
  return recorded;
}

/** Commits an end, and reports what was committed. */
async function commitAndReport(
  { tables, report, logFailure }: OutboxContext,
  ended: EndedAttempt,
  callback?: ShopCallback,
): Promise<Recorded> {
  const { end } = ended;
  const { template } = toRef(ended.job);
  const committed = await ended.transact(() => settleAndCall(tables, ended, callback));
  const { breaker, outcome } = committed;
  if (breaker === "opens" && typeof end.topicResult === "object")
    report({ outcome: "paused", template, reason: end.topicResult.reason });
  if (breaker === "closes") report({ outcome: "resumed", template });
  if (outcome !== undefined) report(outcome);
  if (outcome?.outcome === "failed" && isLogged(outcome, committed, end)) logFailure(outcome);
  const job = committed.job ?? committed.otherJob;
  if (job === undefined) return {};
  const isRepeated = ended.job.rank === ranks.callback;
  return { entry: toEntry(job), retryInMs: end.delayMs ?? 0, isRepeated };
}

/**
 * A pause is logged instead of its failures. What was aborted says nothing, and a conflict ends by
 * itself.
 */
function isLogged(
  { code, error }: Extract<OutboxOutcome, { outcome: "failed" }>,
  { breaker }: Committed,
  { topicResult }: End,
): boolean {
  if (isOptionWrong(error)) return true;
  const isPaused = breaker === "opens" || breaker === "stays-open";
  return !isPaused && topicResult !== undefined && code !== "conflict";
}

/** What one transaction did. */
interface Committed {
  job?: Job | undefined;
  /** What the breaker of the template did, if it did something. */
  breaker?: SettledRow["breaker"] | "closes";
  /** The job of the user that another transaction has settled. */
  otherJob?: Job;
  outcome?: OutboxOutcome | undefined;
}

/** Records the end, and calls the callback, if the job is still that of this attempt. */
function* settleAndCall(
  tables: JobTables,
  ended: EndedAttempt,
  callback?: ShopCallback,
): Statements<Committed> {
  const { job, end, outcome } = ended;
  const row = ended.recordResolution
    ? yield* ended.recordResolution(end)
    : yield* settleAttempt(tables, ended.job, end);
  const committed: Committed =
    row.job === undefined ? yield* settleWithoutLease(tables, ended) : { job: row.job, outcome };
  if (committed.job !== undefined && callback !== undefined) {
    const entry = toEntry(committed.job) as never;
    yield { name: callback.name, call: (transaction) => callback.call(entry, transaction) };
  }
  const breaker = yield* settleTopic(tables, job, { end, row });
  return { ...committed, breaker };
}

/**
 * The lease was lost. A card that arrives all the same is that of the entry which the user has now,
 * unless the user was forgotten, and added again with another key.
 */
function* settleWithoutLease(
  tables: JobTables,
  { job, end, outcome }: EndedAttempt,
): Statements<Committed> {
  const entry = toRef(job);
  if (end.state !== "issued") return { outcome: { outcome: "lease-lost", entry } };
  const { cardId } = end.result as StoredCard;
  const current = yield* lockJob(tables, job);
  const hasCard = current?.state === "issued";
  // Another attempt has recorded this card.
  if (hasCard && (current.result as StoredCard).cardId === cardId) return { otherJob: current };
  const isOwn = current?.id === job.id || current?.key === job.key;
  if (current === undefined || !isOwn) return { outcome: { outcome: "forgotten-card", cardId } };
  // Another attempt has recorded another card, which stays.
  if (hasCard) return { otherJob: current, outcome: { outcome: "another-card", entry, cardId } };
  const { job: settled } = yield* settleRow(tables, current, end);
  return { job: settled, outcome };
}

/** One attempt at one entry: sends the request under its lease, and has its end recorded. */
import { createTypeError } from "@loyalty-cards/internal/errors";
import type { KeyedRequest } from "@loyalty-cards/internal/issuing-steps";
import { maxAheadMs } from "@loyalty-cards/internal/jobs/correct-times";
import { leaseMarginMs } from "@loyalty-cards/internal/jobs/lease";
import { giveBack, parkJob } from "@loyalty-cards/internal/jobs/settle";
import { hasBody, type LeasedJob, ranks } from "@loyalty-cards/internal/jobs/tables";
import { endless } from "@loyalty-cards/internal/limits";
import type { Result } from "@loyalty-cards/internal/result";
import type { Clock } from "@loyalty-cards/internal/timers";
import type { Card } from "@loyalty-cards/issuing-client";
import type { OutboxContext, OutboxDatabase, Recorded } from "./context.ts";
import { toRef } from "./job.ts";
import { isOptionWrong, type OutboxOutcome } from "./outcomes.ts";
import { recordEnd } from "./record.ts";
import { type AttemptVerdict, type CallFailure, judge, toFailure } from "./verdict.ts";

/**
 * How long until an entry that was not sent is due again. If it were due at once, the worker would
 * lease it in a loop.
 */
const givenBackMs = 1_000;

/** How long a lease is, and when it began for this process. */
interface LeaseTimes {
  leaseMs: number;
  /** How long the attempt may take. */
  deadlineMs: number;
  /**
   * When the lease began, on both clocks: one may stop while the machine sleeps, the other may be
   * set back.
   */
  leasedHere: { atMs: number; monotonicMs: number };
}

/** A job that this process has leased. */
export type OwnLease = LeasedJob & LeaseTimes;

/** Call it right before the lease: time counts from then. */
export function getLeaseTimes(clock: Clock, maxAttemptMs: number): LeaseTimes {
  const deadlineMs = Math.ceil(maxAttemptMs); // PostgreSQL takes no fraction
  return {
    leaseMs: deadlineMs + leaseMarginMs,
    deadlineMs,
    leasedHere: { atMs: clock.now(), monotonicMs: clock.monotonicMs() },
  };
}

/** Who attempts, and what aborts the request. */
interface AttemptOptions {
  /** Whether `issue` waits for it. */
  isVisitor: boolean;
  signal: AbortSignal;
}

/** Sends a leased entry, or calls its callback. Never rejects. */
export function runAttempt(
  context: OutboxContext,
  job: OwnLease,
  options: AttemptOptions,
): Promise<Recorded> {
  const { running, report } = context;
  const result = attempt(context, job, options)
    .catch((error: unknown): Recorded => {
      report({ outcome: "unavailable", error });
      return {};
    })
    .finally(() => running.delete(job.id));
  running.set(job.id, result);
  return result;
}

async function attempt(
  context: OutboxContext,
  job: OwnLease,
  { isVisitor, signal }: AttemptOptions,
): Promise<Recorded> {
  const { database, client, random, lifecycle } = context;
  // The callback of a visitor's entry runs in the async context of its own request.
  const transact = isVisitor ? database.transact : database.transactInBatch;
  if (job.rank === ranks.callback) return repeatCallback(context, job, transact);
  // The process may have been stopped for hours since the lease.
  const isExpired = getAgeMs(job, client.clock) >= job.leaseMs;
  if (isExpired) return returnUnsent(context, job);
  if (job.body === undefined) return returnWithoutForm(context, job);
  const sent = await send(context, job, signal);
  if (sent.failure !== undefined && isOptionWrong(sent.failure.thrown)) lifecycle.enter("halted");
  const end = judge(sent, { job, isVisitor }, random);
  const outcome = toOutboxOutcome(job, end, {
    thrown: sent.failure?.thrown,
    lagMs: job.leasedAtMs + getAgeMs(job, client.clock) - job.addedAtMs,
  });
  const recorded = await recordEnd(context, { job, end, outcome, transact });
  const isOwnCard = sent.value !== undefined && sent.value.id === recorded.entry?.cardId;
  return isOwnCard ? { ...recorded, card: sent.value } : recorded;
}

function repeatCallback(
  context: OutboxContext,
  job: OwnLease,
  transact: OutboxDatabase["transact"],
): Promise<Recorded> {
  const { state, result, error, leasedAtMs, endedAtMs = leasedAtMs } = job;
  return recordEnd(context, {
    job,
    end: { state, result, error, effect: "unchanged" },
    outcome: { outcome: "delivered", entry: toRef(job) },
    endedForMs: leasedAtMs - endedAtMs,
    transact,
  });
}

/** Returns an entry unsent. It is due again soon. */
async function returnUnsent({ database, tables }: OutboxContext, job: OwnLease): Promise<Recorded> {
  await database.runEach(() => giveBack(tables, job, { delayMs: givenBackMs }));
  return {};
}

/**
 * Returns an entry that was leased without a form. If the form is there now, another transaction
 * was replacing it. Otherwise it was never stored: nothing is due until `add` stores it.
 */
async function returnWithoutForm(context: OutboxContext, job: OwnLease): Promise<Recorded> {
  const { database, tables, report, logFailure } = context;
  if (await database.runEach(() => hasBody(tables, job.id))) return returnUnsent(context, job);
  await database.runEach(() => parkJob(tables, job));
  const error = createTypeError("The form was not stored with its entry.");
  const facts = { entry: toRef(job), code: "no-form", attempts: job.attempts - 1, error };
  const outcome = { outcome: "failed", ...facts, retryInMs: endless } as const;
  report(outcome);
  logFailure(outcome);
  return {};
}

async function send(
  { client }: OutboxContext,
  job: OwnLease,
  signal: AbortSignal,
): Promise<Result<Card, CallFailure>> {
  const { topic, body = "", key } = job;
  const request: KeyedRequest = {
    templateId: topic,
    body,
    idempotencyKey: key,
    sinceFirstUseMs: job.isFirstAttempt ? undefined : getSinceFirstUseMs(job, client.clock),
  };
  try {
    return { value: await client.send(request, { deadlineMs: job.deadlineMs, signal }) };
  } catch (error) {
    return { failure: toFailure(error) };
  }
}

/** How long ago the key was used first when this attempt ends: the service must know it then. */
function getSinceFirstUseMs(job: OwnLease, clock: Clock): number {
  const { leasedAtMs, firstAttemptAtMs = leasedAtMs, deadlineMs } = job;
  const wasClockAhead = firstAttemptAtMs - leasedAtMs > maxAheadMs;
  if (wasClockAhead) return endless;
  return leasedAtMs - firstAttemptAtMs + getAgeMs(job, clock) + deadlineMs;
}

/** How long ago this process leased the job, on the clock that shows more. */
function getAgeMs({ leasedHere }: OwnLease, clock: Clock): number {
  return Math.max(clock.now() - leasedHere.atMs, clock.monotonicMs() - leasedHere.monotonicMs);
}

function toOutboxOutcome(
  job: OwnLease,
  end: AttemptVerdict,
  { thrown, lagMs }: { thrown: unknown; lagMs: number },
): OutboxOutcome {
  const { attempts } = job;
  const entry = toRef(job);
  if (end.state === "issued")
    return { outcome: "issued", entry, cardId: end.result.cardId, attempts, lagMs };
  const failure = { entry, code: end.error.code, attempts, error: thrown };
  if (end.state === "waiting") return { outcome: "failed", ...failure, retryInMs: end.delayMs };
  return { outcome: end.state, ...failure };
}

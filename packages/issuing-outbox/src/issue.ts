/** `issue`: what a visitor waits for, until the card is issued or the deadline has come. */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { isBreakerOpen } from "@loyalty-cards/internal/jobs/breaker";
import { leaseJob } from "@loyalty-cards/internal/jobs/lease";
import type { Job, JobRef } from "@loyalty-cards/internal/jobs/tables";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { requireNumber, requireSignal } from "@loyalty-cards/internal/limits";
import type { Card, UserId } from "@loyalty-cards/issuing-client";
import { getLeaseTimes, type OwnLease, runAttempt } from "./attempt.ts";
import type { OutboxContext, Recorded } from "./context.ts";
import type { OutboxEntry } from "./entry.ts";
import { findJob, parseJobRef, toEntry } from "./job.ts";
import { type IssueOptions, maxDeadlineMs } from "./outbox.ts";
import { requireOwnSettings } from "./tables.ts";

/** How often to look for the result of another process. */
const pollMs = 100;

type IssuedEntry = OutboxEntry & { card?: Card };

/** A call of `issue`. */
interface Visit {
  jobRef: JobRef;
  /** The deadline, on the monotonic clock. */
  endsAtMs: number;
  signal: AbortSignal | undefined;
}

/** What `issue` does next: it returns the entry, or tries again after some time. */
type NextStep = { entry: IssuedEntry } | { waitMs: number };

export async function issue(
  context: OutboxContext,
  userId: UserId,
  options?: IssueOptions,
): Promise<IssuedEntry> {
  const { client } = context;
  const { deadlineMs = client.deadlineMs, signal } =
    options === undefined ? {} : parseIssueOptions(options);
  const jobRef = parseJobRef(context, userId, options);

  const visit: Visit = { jobRef, endsAtMs: client.clock.monotonicMs() + deadlineMs, signal };
  await context.workerWatch.look(); // before this call leases the entry
  for (;;) {
    signal?.throwIfAborted();
    const next = await tryToIssue(context, visit);
    if ("entry" in next) return next.entry;
    if (next.waitMs > 0) await wait(context, visit, { ms: next.waitMs });
  }
}

const optionNames = {
  template: true,
  deadlineMs: true,
  signal: true,
} satisfies OptionNames<IssueOptions>;

/** @throws {TypeError} for an unknown option, and a deadline that is out of range. */
function parseIssueOptions(options: IssueOptions): IssueOptions {
  requireKnownNames("issue", options, optionNames);
  const { deadlineMs, signal } = options;
  requireSignal(signal);
  if (deadlineMs !== undefined) requireNumber("deadlineMs", deadlineMs, 1, maxDeadlineMs);
  return options;
}

/** Tries once. When other transactions are in the way, it is tried again soon. */
async function tryToIssue(context: OutboxContext, visit: Visit): Promise<NextStep> {
  try {
    return await issueOnce(context, visit);
  } catch (error) {
    const isRepeated = context.database.isRepeatable(error) && getLeftMs(context, visit) > 0;
    if (!isRepeated) throw error;
    return { waitMs: pollMs };
  }
}

async function issueOnce(context: OutboxContext, visit: Visit): Promise<NextStep> {
  const { database, tables, running, lifecycle } = context;
  const job = await database.runEach(() => findJob(tables, visit.jobRef));
  if (job === undefined)
    throw createTypeError(
      "outbox.issue found no committed entry of this user: call and await outbox.add in the transaction that saves the user, in the same file or database and with the same template, and outbox.issue after its commit.",
    );
  const leftMs = getLeftMs(context, visit);
  const isOver = leftMs < 1 || lifecycle.phase !== "open";
  // A parked job has no rank: its form is missing.
  const isDue = job.state === "waiting" && job.rank !== undefined;
  if (!isDue || isOver) return { entry: toEntry(job) };

  const joined = running.get(job.id);
  if (joined !== undefined) return waitForAttempt(context, visit, { job, attempt: joined });
  const leased = await lease(context, job, leftMs);
  if (leased !== undefined) {
    const attempt = runAttempt(context, leased, { isVisitor: true, signal: lifecycle.aborting });
    return waitForAttempt(context, visit, { job, attempt });
  }
  // The tables can be those of another service meanwhile: then nothing is leased.
  await database.runEach(() => requireOwnSettings(context.client));
  if (await isPaused(context, job)) return { entry: toEntry(job) };
  return { waitMs: Math.min(pollMs, leftMs) }; // another process has the entry
}

async function lease(
  { database, tables, client }: OutboxContext,
  job: Job,
  leftMs: number,
): Promise<OwnLease | undefined> {
  const times = getLeaseTimes(client.clock, leftMs);
  const [leased] = await database.runEach(() => leaseJob(tables, times.leaseMs, job));
  return leased && { ...leased, ...times };
}

/** Waits for the end of an attempt, and decides whether there is another one. */
async function waitForAttempt(
  context: OutboxContext,
  visit: Visit,
  { job, attempt }: { job: Job; attempt: Promise<Recorded> },
): Promise<NextStep> {
  const result = await wait(context, visit, { ms: getLeftMs(context, visit), work: attempt });
  if (result === undefined) return { waitMs: 0 }; // to find out why the wait ended
  const { entry, card, retryInMs = 0 } = result;
  if (entry === undefined) return { waitMs: pollMs }; // nothing was recorded
  if (card !== undefined) return { entry: { ...entry, card } };
  if (entry.state !== "waiting") return { entry };
  const isTooLate = retryInMs > getLeftMs(context, visit) || context.lifecycle.phase === "halted";
  if (isTooLate || (await isPaused(context, job))) return { entry };
  return { waitMs: retryInMs };
}

/** Whether the entries of the job's template wait, because the service fails. */
function isPaused({ database, tables }: OutboxContext, { topic }: Job): Promise<boolean> {
  return database.runEach(() => isBreakerOpen(tables, topic));
}

function getLeftMs({ client }: OutboxContext, { endsAtMs }: Visit): number {
  return endsAtMs - client.clock.monotonicMs();
}

/**
 * Waits for the work, at most `ms`.
 * @returns undefined when the time is over, the caller's signal is aborted, or the outbox closes.
 */
function wait<Result>(
  { client, lifecycle }: OutboxContext,
  { signal }: Visit,
  { ms, work }: { ms: number; work?: Promise<Result> },
): Promise<Result | undefined> {
  const { closing } = lifecycle.listeners;
  return new Promise((resolve) => {
    const end = (result?: Result) => {
      cancelTimer();
      signal?.removeEventListener("abort", endEarly);
      closing.delete(endEarly);
      resolve(result);
    };
    const endEarly = () => end();
    const cancelTimer = client.clock.after(ms, endEarly);
    signal?.addEventListener("abort", endEarly);
    closing.add(endEarly);
    work?.then(end);
    if (signal?.aborted || lifecycle.phase === "closing") endEarly(); // it may end before
  });
}

/** The methods of an outbox on any database. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { Job, Jobs, NewJob } from "@loyalty-cards/internal/jobs/jobs";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import { parseGrace, requireNumber } from "@loyalty-cards/internal/limits";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import type { Card, UserId } from "@loyalty-cards/issuing-client";
import { type AttemptContext, createAttempts, type OutboxDatabase } from "./attempt.ts";
import {
  beginAnew,
  type CorrectionResult,
  correctEntry,
  requireResolution,
  requireUnknown,
  retryEntry,
} from "./changes.ts";
import {
  findEntry,
  invalid,
  type OutboxState,
  type OwedCard,
  parseNewEntry,
  parseTemplateId,
  parseUserId,
  requireEntry,
  requireInteger,
  toEntry,
  type UserRef,
} from "./entry.ts";
import { createLoops } from "./loops.ts";
import type { ListOptions, Outbox, OutboxOptions, TemplateOption } from "./outbox.ts";
import { createReport } from "./report.ts";
import { checkSettings } from "./tables.ts";

/** The number of entries that `addAll` adds in one transaction, and that `list` reads at once. */
const batchSize = 200;
/** After a crash an entry waits for the end of its attempt's deadline. */
const maxDeadlineMs = 3_600_000;
/** An entry of `add` is due for workers after this time, so that `issue` has it first. */
const addDelayMs = 1_000;
/** How often `issue` looks for the result of another process. */
const issuePollMs = 100;
const endless = Number.POSITIVE_INFINITY;

/**
 * @param database opens at first use: after that, `checkSettings` has run.
 * @returns the methods that do not depend on the database, and the steps of `add` and `correct`, which run in the user's transaction.
 */
export function createOutbox(
  options: OutboxOptions<never>,
  steps: IssuingSteps<Card>,
  jobs: Jobs,
  database: OutboxDatabase,
) {
  const { retentionDays = 30, onIssued, onRejected, testing } = options;
  const { clock, deadlineMs } = steps;
  requireNumber("retentionDays", retentionDays, 1, 3_650);
  requireNumber("deadlineMs of the client", deadlineMs, 1, maxDeadlineMs);
  const retentionMs = Math.round(retentionDays * 86_400_000);
  const random = testing?.random ?? Math.random;
  const report = createReport(options);
  const context: AttemptContext = { database, jobs, steps, report, random, onIssued, onRejected };
  const attempts = createAttempts(context);
  const loops = createLoops(context, attempts, retentionMs, requireNotClosed);
  const issuing = new Set<Promise<unknown>>();
  /** Ends the waits of `issue`. */
  const waits = new Set<() => void>();
  const aborting = new AbortController();
  let closed: Promise<void> | undefined;

  function requireNotClosed(): void {
    if (closed !== undefined) throw invalid("The outbox is closed.");
  }

  /** @throws {TypeError} {IssuingError} for an invalid id, and when the outbox is closed. */
  function toUser(userId: UserId, { template }: TemplateOption = {}): UserRef {
    requireNotClosed();
    const user = { userId: parseUserId(steps, userId) };
    return template === undefined ? user : { ...user, template: parseTemplateId(template) };
  }

  /** Waits for the work, at most `ms`. @returns undefined when the time is over, the signal is aborted (`issueNow` throws then), or the outbox is closed. */
  function waitUnlessClosed<Result>(ms: number, signal: AbortSignal | undefined, work?: Promise<Result>) {
    return new Promise<Result | undefined>((resolve) => {
      const end = (result?: Result) => {
        cancel();
        signal?.removeEventListener("abort", abort);
        waits.delete(end);
        resolve(result);
      };
      const abort = () => end();
      const cancel = clock.after(ms, end);
      waits.add(end);
      signal?.addEventListener("abort", abort);
      work?.then(end);
      if (signal?.aborted || closed !== undefined) end(); // while the entry was leased
    });
  }

  /** Tries until the card is issued or rejected, the template is paused, or the deadline has come. */
  async function issueNow(user: UserRef, waitMs: number, signal: AbortSignal | undefined) {
    const endsAtMs = clock.monotonicMs() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const entry = await issueOnce(user, endsAtMs, signal).catch((error: unknown) => {
        if (!database.isConflict(error) || clock.monotonicMs() >= endsAtMs) throw error;
        return waitUnlessClosed<undefined>(issuePollMs, signal);
      });
      if (entry !== undefined) return entry;
    }
  }

  /** @returns the entry, when nothing more is to be tried. */
  async function issueOnce(user: UserRef, endsAtMs: number, signal: AbortSignal | undefined) {
    const job = await database.run(() => findEntry(jobs, user));
    if (job === undefined)
      throw invalid(
        "outbox.issue found no committed entry of this user: call outbox.add in the transaction that saves the user, and outbox.issue after its commit.",
      );
    const leftMs = endsAtMs - clock.monotonicMs();
    if (job.state !== "waiting" || leftMs < 1 || closed !== undefined) return toEntry(job);
    let attempt = attempts.running.get(job.id);
    if (attempt === undefined) {
      const { topic, name } = job;
      const [leased] = await attempts.lease((leaseMs) => jobs.leaseOne(topic, name, leaseMs), leftMs);
      if (leased !== undefined) attempt = attempts.run(leased, aborting.signal, true);
      else if (await isPaused(topic)) return toEntry(job);
    }
    const result = await waitUnlessClosed(attempt ? leftMs : Math.min(issuePollMs, leftMs), signal, attempt);
    if (result === undefined) return undefined; // another process has it, or the time is over
    // Without an entry, the attempt has recorded nothing.
    const { entry, card, retryInMs = issuePollMs } = result;
    const isTooLate = retryInMs > endsAtMs - clock.monotonicMs();
    if (entry !== undefined && (entry.state !== "waiting" || isTooLate || (await isPaused(entry.template))))
      return { ...entry, ...(card !== undefined && { card }) };
    await waitUnlessClosed(retryInMs, signal);
    return undefined;
  }

  /** @throws why this process must not lease, which the lease itself does not say. */
  const isPaused = (template: string) =>
    database.run(function* () {
      yield* checkSettings(steps);
      return (yield* jobs.listBreakers()).some(({ topic }) => topic === template);
    });

  async function* list(listOptions: ListOptions = {}) {
    requireKnownOptions("list", listOptions, ["state", "limit", "after"]);
    const { state, limit = endless, after } = listOptions;
    if (state !== undefined && !states.includes(state))
      throw invalid('state must be "waiting", "issued", "rejected" or "unknown".');
    requireInteger("limit", limit, 0, endless);
    requireNotClosed();
    const first = after && (await database.run(() => findEntry(jobs, toUser(after.userId, after))));
    if (after !== undefined && first === undefined) throw invalid("after is not an entry of this outbox.");
    let lastId = first?.id ?? 0;
    for (let left = limit; left > 0; left -= batchSize) {
      const size = Math.min(left, batchSize);
      const page = await database.run(() => jobs.list(state, lastId, size));
      for (const job of page) yield toEntry(job);
      if (page.length < size) return;
      lastId = page.at(-1)?.id ?? lastId;
    }
  }

  /** Changes an entry in a transaction. @returns it. */
  async function change(user: UserRef, start: (job: Job) => Operation<unknown>) {
    const changed = await database.transact(function* () {
      yield* start(yield* requireEntry(jobs, user));
      return yield* requireEntry(jobs, user);
    });
    return toEntry(changed);
  }

  const outbox: Outbox = {
    async addAll(entries) {
      requireNotClosed();
      const counts = { added: 0, known: 0 };
      let batch: NewJob[] = [];
      const write = async () => {
        const added = await database.transact(() => jobs.addAll(batch));
        counts.added += added;
        counts.known += batch.length - added;
        batch = [];
      };
      for await (const input of entries) {
        batch.push(parseNewEntry(steps, input));
        if (batch.length === batchSize) await write();
      }
      if (batch.length > 0) await write();
      return counts;
    },
    async issue(userId, issueOptions = {}) {
      const user = toUser(userId, issueOptions);
      const { deadlineMs: waitMs = deadlineMs, signal } = issueOptions;
      requireKnownOptions("issue", issueOptions, ["template", "deadlineMs", "signal"]);
      if (waitMs !== deadlineMs) requireNumber("deadlineMs", waitMs, 1, maxDeadlineMs);
      const issued = issueNow(user, waitMs, signal).finally(() => issuing.delete(issued));
      issuing.add(issued);
      return issued;
    },
    work: loops.work,
    drain: loops.drain,
    async resolve(userId, resolution, templateOption) {
      const user = toUser(userId, templateOption);
      requireResolution(resolution);
      const { cardId } = resolution;
      if (cardId === undefined) return change(user, (job) => beginAnew(jobs, steps, requireUnknown(job)));
      const job = requireUnknown(await database.run(() => requireEntry(jobs, user)));
      const { entry } = await attempts.record(job, { state: "issued", result: { cardId }, isErased: true });
      return entry ?? toEntry(await database.run(() => requireEntry(jobs, user)));
    },
    async retry(userId, templateOption) {
      const user = toUser(userId, templateOption);
      return change(user, (job) => retryEntry(jobs, steps, job));
    },
    async forget(userId, templateOption) {
      const user = toUser(userId, templateOption);
      return database.transact(function* () {
        const job = yield* findEntry(jobs, user, true);
        if (job !== undefined) yield* jobs.delete(job.id);
        return job !== undefined;
      });
    },
    async get(userId, templateOption) {
      const user = toUser(userId, templateOption);
      const job = await database.run(() => findEntry(jobs, user));
      return job && toEntry(job);
    },
    list,
    count: loops.count,
    close(closeOptions = {}) {
      const graceMs = parseGrace(closeOptions.graceMs);
      closed ??= close(graceMs);
      return closed;
    },
    [Symbol.asyncDispose]: () => outbox.close(),
  };

  async function close(graceMs: number): Promise<void> {
    for (const end of [...waits]) end();
    const cancel = clock.after(graceMs, () => aborting.abort(new Error("The outbox is closed.")));
    await loops.stop(graceMs);
    await Promise.allSettled(issuing);
    await Promise.all(attempts.running.values());
    cancel();
    database.close();
  }

  return {
    outbox,
    *add<Fields>(input: OwedCard<Fields>): Operation<"added" | OutboxState> {
      requireNotClosed();
      const known = yield* jobs.add(parseNewEntry(steps, input), addDelayMs);
      return known === undefined ? "added" : (known.state as OutboxState);
    },
    *correct(userId: UserId, request: unknown, options?: TemplateOption): Operation<CorrectionResult> {
      const job = yield* findEntry(jobs, toUser(userId, options), true);
      if (job === undefined) return "absent";
      return yield* correctEntry(jobs, steps, job, steps.prepare(job.topic, request).body);
    },
  };
}

const states: readonly unknown[] = ["waiting", "issued", "rejected", "unknown"] satisfies OutboxState[];

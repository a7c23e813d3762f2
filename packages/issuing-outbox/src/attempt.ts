/** One attempt at one entry: sends the request, records how it ended with the callback of the shop, and reports it. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import {
  type End,
  type EndedJob,
  type Job,
  type Jobs,
  type LeasedJob,
  ranks,
} from "@loyalty-cards/internal/jobs/jobs";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import { maxBackoffMs, withJitter } from "@loyalty-cards/internal/jobs/worker";
import type { Card } from "@loyalty-cards/issuing-client";
import { type OutboxEntry, type StoredCard, toEntry, toRef } from "./entry.ts";
import type { OutboxOutcome, Report } from "./report.ts";
import { judge } from "./verdict.ts";

/** Runs operations. Each promise resolves after the commit. */
export interface OutboxDatabase {
  /** Runs an operation. Each statement can be a transaction. */
  run<Result>(start: () => Operation<Result>): Promise<Result>;
  /** Runs an operation in a transaction. @param start creates it, once for each time that the transaction is repeated. */
  transact<Result>(start: () => Operation<Result>): Promise<Result>;
  /** The same for the result of a worker: on SQLite, the results of one turn of the event loop are one transaction. */
  transactTogether<Result>(start: () => Operation<Result>): Promise<Result>;
  /** Whether the error says that other transactions were in the way: then a repetition helps. */
  isConflict(error: unknown): boolean;
  /** Removes deleted data from the files. Called when nothing is due. */
  tidy(): void;
  close(): void;
}

type Callback = (entry: never, transaction: never) => unknown;

export interface AttemptContext {
  database: OutboxDatabase;
  jobs: Jobs;
  steps: IssuingSteps<Card>;
  report: Report;
  /** Undefined when the option is not set: then nothing is delivered. */
  onIssued?: Callback | undefined;
  onRejected?: Callback | undefined;
  random: () => number;
}

/** A job, and when this process leased it on both of its clocks: one may stop while the machine sleeps, the other may be set back. */
export interface OwnLease extends LeasedJob {
  leasedHere: { atMs: number; monotonicMs: number };
  /** How long the attempt may take: the lease lasts {@link leaseMarginMs} longer. */
  deadlineMs: number;
}

/** A lease lasts this much longer than its attempt, so that the result can be committed. */
export const leaseMarginMs = 30_000;

/** Until an entry that was not sent is due again. At once, an entry whose body is missing would block the process. */
const givenBackMs = 1_000;

/** How an attempt ended. */
export interface AttemptResult {
  /** Absent when it was not recorded. */
  entry?: OutboxEntry;
  card?: Card;
  /** When the entry is tried again, unless its template is paused. */
  retryInMs?: number;
}

interface Settled {
  /** Undefined when the lease was lost. */
  job: Job | undefined;
  breaker?: "opened" | "closed";
  /** What is reported. */
  outcome?: OutboxOutcome | undefined;
}

export type Attempts = ReturnType<typeof createAttempts>;

export function createAttempts(context: AttemptContext) {
  const { database, jobs, steps, report, onIssued, onRejected, random } = context;
  const { clock } = steps;
  /** Attempts of this process that have not ended, by the id of the job. */
  const running = new Map<number, Promise<AttemptResult>>();

  /** How long ago this process leased the job, on the clock that shows more. */
  const getAgeMs = ({ leasedHere }: OwnLease) =>
    Math.max(clock.now() - leasedHere.atMs, clock.monotonicMs() - leasedHere.monotonicMs);

  async function send(
    job: OwnLease,
    signal: AbortSignal,
  ): Promise<{ card: Card; error?: never } | { error: unknown }> {
    const { topic, body = "", key, isFirstAttempt, leasedAtMs, startedAtMs = leasedAtMs, deadlineMs } = job;
    // On the client's clock, which can differ from the database's. The client sends nothing when the key is too old. It is counted
    // from a whole deadline earlier, so that the attempt ends in time.
    const firstAttemptAt = clock.now() - (leasedAtMs - startedAtMs + getAgeMs(job) + deadlineMs);
    const first = isFirstAttempt ? {} : { firstAttemptAt };
    const request = { templateId: topic, body, idempotencyKey: key, ...first };
    try {
      return { card: await steps.send(request, { deadlineMs, signal }) };
    } catch (error) {
      return { error };
    }
  }

  async function attempt(job: OwnLease, signal: AbortSignal, isVisitor: boolean): Promise<AttemptResult> {
    const entry = toRef(job);
    const { state, error, attempts } = job;
    // The callback of a visitor's entry runs in the async context of its own request.
    const transact = isVisitor ? database.transact : database.transactTogether;
    if (job.rank === ranks.callback)
      return record(job, { state, error }, { outcome: "delivered", entry }, transact);
    // The process may have been stopped for hours since the lease; without a body the entry was changed just now.
    if (job.body === undefined || getAgeMs(job) >= job.deadlineMs + leaseMarginMs) {
      await database.run(() => jobs.giveBack(job, givenBackMs));
      return {};
    }
    const sent = await send(job, signal);
    const end = judge(sent, job, isVisitor, random);
    if (end.state === "issued") {
      const { cardId } = end.result;
      const lagMs = job.leasedAtMs + getAgeMs(job) - job.addedAtMs;
      const outcome: OutboxOutcome = { outcome: "issued", entry, cardId, attempts, lagMs };
      const result = await record(job, end, outcome, transact);
      return "card" in sent && cardId === result.entry?.cardId ? { ...result, card: sent.card } : result;
    }
    const failure = { entry, code: end.error.code, attempts, error: sent.error };
    const outcome: OutboxOutcome =
      end.state === "waiting"
        ? { outcome: "failed", ...failure, retryInMs: end.delayMs }
        : { outcome: end.state, ...failure };
    return record(job, end, outcome, transact);
  }

  /** Records an end in the transaction of its callback. If that fails, records it without the callback, which is called later. */
  async function record(
    job: EndedJob,
    end: End,
    outcome?: OutboxOutcome,
    transact = database.transact,
  ): Promise<AttemptResult> {
    const callback = end.state === "issued" ? onIssued : end.state === "rejected" ? onRejected : undefined;
    try {
      return finish(job, end, await transact(() => settleAndCallBack(job, end, outcome, callback)));
    } catch (error) {
      if (callback === undefined) throw error;
      // The delay doubles: it is as long as the time since the entry ended.
      const endedForMs = job.rank === ranks.callback ? (job.leasedAtMs ?? 0) - (job.endedAtMs ?? 0) : 0;
      const retryInMs = withJitter(Math.min(maxBackoffMs, Math.max(1_000, endedForMs)), random);
      const postponed = { ...end, rank: ranks.callback, delayMs: retryInMs };
      const first = job.rank === ranks.callback ? undefined : outcome;
      const result = finish(job, postponed, await transact(() => settleAndCallBack(job, postponed, first)));
      if (result.entry?.isDelivered === false)
        report({ outcome: "not-delivered", entry: toRef(job), error, retryInMs });
      return result;
    }
  }

  function* settleAndCallBack(
    job: EndedJob,
    end: End,
    outcome: OutboxOutcome | undefined,
    callback?: Callback,
  ): Operation<Settled> {
    const settled = yield* jobs.settle(job, end);
    let recorded = settled.job;
    if (recorded === undefined && end.state === "issued") {
      // The lease was lost, and there is a card: it is that of the entry which this user has now.
      const [current] = yield* jobs.findByName(job.name, job.topic, true);
      const cardId = getCardId(end.result);
      if (current === undefined) return { ...settled, outcome: { outcome: "forgotten-card", cardId } };
      if (current.state === "issued") {
        const isSame = getCardId(current.result) === cardId;
        const another: OutboxOutcome = { outcome: "another-card", entry: toRef(job), cardId };
        return { ...settled, job: current, outcome: isSame ? undefined : another };
      }
      recorded = (yield* jobs.settle({ ...job, id: current.id, lease: current.lease }, end)).job;
    }
    if (recorded === undefined) return { ...settled, outcome: { outcome: "lease-lost", entry: toRef(job) } };
    const entry = toEntry(recorded);
    if (callback !== undefined)
      yield {
        call: (transaction) => callback(entry as never, transaction),
        name: end.state === "issued" ? "onIssued" : "onRejected",
      };
    return { ...settled, job: recorded, outcome };
  }

  /** Reports what was recorded. */
  function finish({ topic }: EndedJob, end: End, { job, breaker, outcome }: Settled): AttemptResult {
    if (breaker === "opened" && typeof end.finding === "object")
      report({ outcome: "paused", template: topic, reason: end.finding.reason });
    if (breaker === "closed") report({ outcome: "resumed", template: topic });
    if (outcome !== undefined) report(outcome);
    return job === undefined ? {} : { entry: toEntry(job), retryInMs: end.delayMs ?? 0 };
  }

  return {
    running: running as ReadonlyMap<number, Promise<AttemptResult>>,
    /** Records what a person found out. */
    record,
    /** Leases entries with a function of the engine. */
    async lease(start: (leaseMs: number) => Operation<LeasedJob[]>, deadlineMs: number): Promise<OwnLease[]> {
      const leasedHere = { atMs: clock.now(), monotonicMs: clock.monotonicMs() };
      const wholeMs = Math.ceil(deadlineMs); // PostgreSQL takes no fraction
      const leased = await database.run(() => start(wholeMs + leaseMarginMs));
      return leased.map((job) => ({ ...job, leasedHere, deadlineMs: wholeMs }));
    },
    /** Sends a leased entry, or calls its callback. Never rejects. @param isVisitor whether `issue` waits for it. */
    run(job: OwnLease, signal: AbortSignal, isVisitor = false): Promise<AttemptResult> {
      const result = attempt(job, signal, isVisitor)
        .catch((error: unknown): AttemptResult => {
          report({ outcome: "unavailable", error });
          return {};
        })
        .finally(() => running.delete(job.id));
      running.set(job.id, result);
      return result;
    },
  };
}

const getCardId = (result: unknown): string => (result as StoredCard).cardId;

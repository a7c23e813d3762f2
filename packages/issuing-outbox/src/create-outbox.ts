/** The methods of an outbox on any database. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { Job, Jobs, NewJob } from "@loyalty-cards/internal/jobs/jobs";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import { startWorker, type Worker, type WorkLimits } from "@loyalty-cards/internal/jobs/worker";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { notify } from "@loyalty-cards/internal/reporting";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { Card, UserId } from "@loyalty-cards/issuing-client";
import {
  type AttemptResult,
  createAttempts,
  getExpiryMs,
  type OutboxDatabase,
  type OwnLease,
} from "./attempt.ts";
import {
  type CorrectionResult,
  correctEntry,
  requireResolution,
  requireUnknown,
  resendEntry,
  retryEntry,
} from "./changes.ts";
import {
  deriveKey,
  findEntry,
  invalid,
  type OutboxCounts,
  type OutboxState,
  type OwedCard,
  parseNewEntry,
  requireEntry,
  toEntry,
  type UserRef,
} from "./entry.ts";
import type {
  DrainOptions,
  ListOptions,
  Outbox,
  OutboxOptions,
  TemplateOption,
  WorkOptions,
} from "./outbox.ts";
import { createReport } from "./report.ts";
import { checkSettings } from "./tables.ts";

/** The number of entries that `addAll` adds in one transaction, and that `list` reads at once. */
const batchSize = 200;
/** After a crash an entry waits for the end of its attempt's deadline. */
const maxDeadlineMs = 3_600_000;
/** An entry of `add` is due for workers after this time, so that `issue` has it first. */
const addDelayMs = 1_000;
/** `drain` waits for entries that are due within this time. */
const drainIdleMs = 10_000;
/** How often `issue` looks for the result of another process. */
const issuePollMs = 100;
const progressIntervalMs = 100;
const sweepIntervalMs = 600_000;
const endless = Number.POSITIVE_INFINITY;

/** The methods that do not depend on the database, and the steps of `add` and `correct`, which run in the user's transaction. */
export interface OutboxParts {
  outbox: Outbox;
  /** Validates the input of `add`. @returns the operation that adds the entry. */
  add<Fields>(input: OwedCard<Fields>): () => Operation<"added" | OutboxState>;
  /** Validates the input of `correct`. @returns the operation that corrects the entry. */
  correct(userId: UserId, request: unknown, options?: TemplateOption): () => Operation<CorrectionResult>;
}

const optionTypes = {
  client: "object",
  onIssued: "function",
  onRejected: "function",
  onOutcome: "function",
  log: "function",
  logErrorMessages: "boolean",
  retentionDays: "number",
  testing: "object",
} satisfies Record<keyof OutboxOptions<unknown>, string>;

/** @param own the options of the database. @throws {TypeError} for an option that is unknown, or has another type. */
export function requireOutboxOptions(owner: string, options: OutboxOptions<never>, ...own: string[]): void {
  if (typeof options !== "object" || options === null)
    throw invalid(`${owner} needs options: ${[...own, "client", "onIssued"].join(", ")}.`);
  requireKnownOptions(owner, options, ["client", ...own, ...Object.keys(optionTypes).slice(1)]);
  for (const [name, type] of Object.entries(optionTypes)) {
    const value: unknown = options[name as keyof typeof optionTypes];
    // `onIssued: undefined` comes from a wrong import or a misspelt property: the cards would not reach the users.
    if (name in options && typeof value !== type && (value !== undefined || name === "onIssued"))
      throw invalid(
        `${name} must be ${type === "object" ? "an" : "a"} ${type}; it is ${value === null ? "null" : typeof value}.`,
      );
  }
}

/** @param database opens at first use: after that, `checkSettings` has run. */
export function createOutbox(
  options: OutboxOptions<never>,
  steps: IssuingSteps<Card>,
  jobs: Jobs,
  database: OutboxDatabase,
): OutboxParts {
  const { retentionDays = 30, onIssued, onRejected, testing } = options;
  const { clock, deadlineMs } = steps;
  requireNumber("retentionDays", retentionDays, 1, 3_650);
  requireNumber("deadlineMs of the client", deadlineMs, 1, maxDeadlineMs);
  const retentionMs = retentionDays * 86_400_000;
  const random = testing?.random ?? Math.random;
  const report = createReport(options);
  const attempts = createAttempts({
    ...{ database, jobs, steps, report, random },
    onIssued: onIssued as never,
    onRejected: onRejected as never,
  });
  const workers = new Set<Worker>();
  const issuing = new Set<Promise<unknown>>();
  /** Ends the waits of `issue`. */
  const waits = new Set<() => void>();
  const aborting = new AbortController();
  let closed: Promise<void> | undefined;
  let sweptAtMs = Number.NEGATIVE_INFINITY;

  function requireNotClosed(): void {
    if (closed !== undefined) throw invalid("The outbox is closed.");
  }

  /** @throws {IssuingError} `configuration` for an invalid user id. */
  function toUser(userId: UserId, { template }: TemplateOption = {}): UserRef {
    const id = template === undefined ? undefined : readTemplateId(template);
    return { userId: deriveKey(steps, id ?? "template", userId).userId, template: id };
  }

  const deriveNextKey = ({ topic, name }: Job, suffix: string) =>
    deriveKey(steps, topic, name, suffix).idempotencyKey;

  /** Waits for the work, at most `ms`. @returns undefined when the time is over, or the outbox is closed. @throws the reason of the signal. */
  function waitWithin<Result>(
    ms: number,
    signal: AbortSignal | undefined,
    work?: Promise<Result>,
  ): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        cancel();
        signal?.removeEventListener("abort", abort);
        waits.delete(stop);
        settle();
      };
      const stop = () => end(() => resolve(undefined));
      const abort = () => end(() => reject(signal?.reason));
      const cancel = clock.after(ms, stop);
      waits.add(stop);
      signal?.addEventListener("abort", abort, { once: true });
      work?.then((result) => end(() => resolve(result)));
      if (signal?.aborted) abort(); // while the entry was leased
    });
  }

  /** Tries until the card is issued or rejected, the template is paused, or the deadline has come. */
  async function issueNow(user: UserRef, waitMs: number, signal: AbortSignal | undefined) {
    const endsAtMs = clock.monotonicMs() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const entry = await issueOnce(user, endsAtMs, signal).catch((error: unknown) => {
        if (!database.isConflict(error) || clock.monotonicMs() >= endsAtMs) throw error;
        return waitWithin<undefined>(issuePollMs, signal);
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
      const leased = await leaseNow(job, leftMs);
      if (leased === "paused") return toEntry(job);
      attempt = leased && attempts.run(leased, aborting.signal, true);
    }
    const result = await waitWithin(attempt ? leftMs : Math.min(issuePollMs, leftMs), signal, attempt);
    if (result?.entry === undefined) return undefined; // another process has it, or the time is over
    const { entry, card, retryInMs = 0 } = result;
    const isLast = entry.state !== "waiting" || retryInMs > endsAtMs - clock.monotonicMs();
    if (isLast) return { ...entry, ...(card !== undefined && { card }) };
    await waitWithin(retryInMs, signal);
    return undefined;
  }

  /** Leases an entry. @returns undefined while another process has it. */
  async function leaseNow(job: Job, leftMs: number): Promise<OwnLease | "paused" | undefined> {
    const [leased] = await attempts.lease(function* (leaseMs) {
      const one = yield* jobs.leaseOne(job.topic, job.name, leaseMs);
      return one === undefined ? [] : [one];
    }, leftMs);
    if (leased !== undefined) return leased;
    const paused = await database.run(function* () {
      yield* checkSettings(steps);
      return yield* jobs.listBreakers();
    });
    return paused.some(({ topic }) => topic === job.topic) ? "paused" : undefined;
  }

  function start(
    work: Required<WorkOptions>,
    limits?: WorkLimits,
    onEnd?: (result: AttemptResult) => void,
  ): Worker {
    requireNotClosed();
    const worker = startWorker<OwnLease>(
      {
        clock,
        lease: (limit) =>
          attempts.lease(function* (leaseMs) {
            const probe = yield* jobs.leaseProbe(leaseMs);
            const due = yield* jobs.lease(limit, leaseMs);
            return probe === undefined ? due : [probe, ...due];
          }, deadlineMs),
        getDelay: () =>
          database.run(function* () {
            yield* checkSettings(steps);
            return yield* jobs.getDelay();
          }),
        run: (job, signal) => attempts.run(job, signal).then(onEnd),
        giveBack: (job) => database.run(() => jobs.giveBack(job)),
        onUnavailable: (error) => report({ outcome: "unavailable", error }),
        onIdle: sweep,
      },
      work,
      limits,
    );
    workers.add(worker);
    void worker.ended.then(() => workers.delete(worker));
    return worker;
  }

  /** Erases forms whose retention is over. */
  async function sweep(): Promise<void> {
    database.tidy();
    if (clock.monotonicMs() - sweptAtMs < sweepIntervalMs) return;
    for (const state of ["rejected", "unknown"])
      while (await database.transact(() => jobs.erase(state, retentionMs)));
    sweptAtMs = clock.monotonicMs();
  }

  function* countEntries(): Operation<OutboxCounts> {
    const { states, callbacks, oldestWaitingAtMs, oldestStartedAtMs } = yield* jobs.count();
    const paused = yield* jobs.listBreakers();
    const { waiting = 0, issued = 0, rejected = 0, unknown = 0 } = states;
    return {
      ...{ waiting, issued, rejected, unknown, undelivered: callbacks },
      ...(oldestWaitingAtMs !== undefined && { oldestWaitingAt: new Date(oldestWaitingAtMs) }),
      ...(oldestStartedAtMs !== undefined && { nextExpiryAt: new Date(getExpiryMs(oldestStartedAtMs)) }),
      paused: paused.map(({ topic, sinceMs, reason }) => ({
        template: topic,
        since: new Date(sinceMs),
        reason,
      })),
    };
  }

  async function drain(drainOptions: DrainOptions): Promise<OutboxCounts> {
    const { maxMs = endless, maxEntries = endless, onProgress, signal } = drainOptions;
    requireNumber("maxMs", maxMs, 0, endless);
    requireInteger("maxEntries", maxEntries, 0, endless);
    const ownNames = ["maxMs", "maxEntries", "onProgress", "signal"];
    requireKnownOptions("drain", drainOptions, ["concurrency", "maxPerSecond", ...ownNames]);
    const work = parseWorkOptions(drainOptions, 32);
    requireNotClosed();
    const before = await database.run(countEntries);
    const worker = start(
      work,
      {
        maxIdleMs: drainIdleMs,
        maxJobs: signal?.aborted ? 0 : maxEntries,
        endsAtMs: clock.monotonicMs() + maxMs,
        getLeaseDelay: () => database.run(() => jobs.getLeaseDelay()),
      },
      onProgress && createProgress(before, onProgress),
    );
    const stop = () => void worker.stop(maxTimerMs);
    signal?.addEventListener("abort", stop, { once: true });
    await worker.ended;
    signal?.removeEventListener("abort", stop);
    await sweep();
    const counts = await database.run(countEntries);
    notify(onProgress, counts);
    return counts;
  }

  /** Adds the results of this process to the counts at the start, because counting a million entries takes a moment. */
  function createProgress(counts: OutboxCounts, onProgress: (counts: OutboxCounts) => void) {
    let reportedAtMs = clock.monotonicMs();
    return ({ entry }: AttemptResult): void => {
      if (entry !== undefined && entry.state !== "waiting") {
        counts[entry.state] += 1;
        counts.waiting -= 1;
      }
      if (clock.monotonicMs() - reportedAtMs < progressIntervalMs) return;
      reportedAtMs = clock.monotonicMs();
      notify(onProgress, { ...counts });
    };
  }

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
  async function change(user: UserRef, start: () => Operation<unknown>) {
    requireNotClosed();
    return toEntry(
      await database.transact(function* () {
        yield* start();
        return yield* requireEntry(jobs, user);
      }),
    );
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
      requireNumber("deadlineMs", waitMs, 1, maxDeadlineMs);
      requireNotClosed();
      const issued = issueNow(user, waitMs, signal).finally(() => issuing.delete(issued));
      issuing.add(issued);
      return issued;
    },
    work(workOptions = {}) {
      requireKnownOptions("work", workOptions, ["concurrency", "maxPerSecond", "pollMs"]);
      const worker = start(parseWorkOptions(workOptions, 8));
      const stop: ReturnType<Outbox["work"]>["stop"] = (stopOptions) =>
        worker.stop(parseGrace(stopOptions?.graceMs));
      return { stop, [Symbol.asyncDispose]: () => stop() };
    },
    drain: (drainOptions = {}) => drain(drainOptions),
    async resolve(userId, resolution, templateOption) {
      const user = toUser(userId, templateOption);
      requireResolution(resolution);
      const { cardId } = resolution;
      if (cardId === undefined) return change(user, () => resendEntry(jobs, deriveNextKey, user));
      requireNotClosed();
      const job = await database.transact(() => requireUnknown(jobs, user));
      const found = { ...job, isFirstAttempt: false, failures: 0 };
      const end = { state: "issued", result: JSON.stringify({ cardId }), isErased: true };
      const { entry } = await attempts.record(found, end, () => undefined);
      return entry ?? toEntry(await database.run(() => requireEntry(jobs, user)));
    },
    async retry(userId, templateOption) {
      const user = toUser(userId, templateOption);
      return change(user, () => retryEntry(jobs, deriveNextKey, user));
    },
    async forget(userId, templateOption) {
      const user = toUser(userId, templateOption);
      requireNotClosed();
      return database.transact(function* () {
        const job = yield* findEntry(jobs, user, true);
        return job !== undefined && (yield* jobs.delete(job.topic, job.name)) !== undefined;
      });
    },
    async get(userId, templateOption) {
      const user = toUser(userId, templateOption);
      requireNotClosed();
      const job = await database.run(() => findEntry(jobs, user));
      return job && toEntry(job);
    },
    list,
    async count() {
      requireNotClosed();
      return database.run(countEntries);
    },
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
    await Promise.all([...workers].map((worker) => worker.stop(graceMs)));
    await Promise.allSettled(issuing);
    await Promise.all(attempts.running.values());
    cancel();
    database.close();
  }

  return {
    outbox,
    add(input) {
      requireNotClosed();
      const entry = parseNewEntry(steps, input);
      return function* () {
        const known = yield* jobs.add(entry, addDelayMs);
        return known === undefined ? "added" : (known.state as OutboxState);
      };
    },
    correct(userId, request, templateOption) {
      requireNotClosed();
      const user = toUser(userId, templateOption);
      const { body } = steps.prepare(user.template ?? "template", request);
      return function* () {
        return yield* correctEntry(jobs, deriveNextKey, yield* findEntry(jobs, user, true), body);
      };
    },
  };
}

const states: readonly unknown[] = ["waiting", "issued", "rejected", "unknown"] satisfies OutboxState[];

function readTemplateId(template: unknown): string {
  const id = typeof template === "string" ? template : (template as { id?: unknown } | null | undefined)?.id;
  if (typeof id === "string" && id.trim() !== "") return id;
  throw invalid("template must be the id of a template, or a template of defineTemplate.");
}

/** @throws {TypeError} naming the option. */
function parseWorkOptions(options: WorkOptions, defaultConcurrency: number): Required<WorkOptions> {
  const { concurrency = defaultConcurrency, maxPerSecond = endless, pollMs = 1_000 } = options;
  requireInteger("concurrency", concurrency, 1, 1_000);
  requireNumber("maxPerSecond", maxPerSecond, 0.01, endless);
  requireNumber("pollMs", pollMs, 1, maxTimerMs);
  return { concurrency, maxPerSecond, pollMs };
}

/** @throws {TypeError} for an invalid `graceMs`. */
function parseGrace(graceMs = 10_000): number {
  requireNumber("graceMs", graceMs, 0, maxTimerMs);
  return graceMs;
}

/** @throws {TypeError} naming the option, its range and its value. */
function requireNumber(name: string, value: unknown, min: number, max: number): void {
  if (typeof value === "number" && value >= min && value <= max) return;
  throw new TypeError(`${name} must be a number from ${min} to ${max}; it is ${String(value)}.`);
}

/** @throws {TypeError} naming the option, its range and its value. */
function requireInteger(name: string, value: unknown, min: number, max: number): void {
  requireNumber(name, value, min, max);
  if (Number.isInteger(value) || value === endless) return;
  throw new TypeError(`${name} must be an integer; it is ${String(value)}.`);
}

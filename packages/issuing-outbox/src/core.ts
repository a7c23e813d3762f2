/** The methods of an outbox on any database. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { notify } from "@loyalty-cards/internal/reporting";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import type { Card, UserId } from "@loyalty-cards/issuing-client";
import {
  addBatch,
  addEntry,
  deriveKey,
  invalid,
  type NewEntry,
  parseNewEntry,
  readTemplateId,
} from "./add.ts";
import {
  type CorrectionResult,
  correctEntry,
  findEntry,
  forgetEntry,
  resolveEntry,
  retryEntry,
  type UserRef,
} from "./changes.ts";
import { CallbackError, type OutboxDatabase } from "./database.ts";
import type { OutboxCounts, OutboxEntry, OutboxState } from "./entry.ts";
import { countEntries, findUserOfCard, readEntries, requireState } from "./inspect.ts";
import { issueNow } from "./issue.ts";
import type {
  DrainOptions,
  EntryInput,
  ListOptions,
  Outbox,
  OutboxOptions,
  OutboxWorker,
  TemplateOption,
} from "./outbox.ts";
import type { Recorder } from "./record.ts";
import { createReport } from "./report.ts";
import { toEntry } from "./rows.ts";
import { type AttemptResult, Sender } from "./sender.ts";
import { resumeCopy, type Settings } from "./settings.ts";
import type { Operation } from "./statement.ts";
import { Loop, type LoopOptions, parseWorkOptions, requireInteger, requireNumber } from "./worker.ts";

/** Entries of `addAll` in one transaction. */
const batchSize = 200;
const drainIdleMs = 10_000;
const defaultGraceMs = 10_000;
const progressIntervalMs = 100;

/** What the two databases add: how they open, and how the user's transaction runs an operation. */
export interface Core {
  outbox: Outbox;
  /** Lets the workers of this process look for entries. */
  poll(): void;
  /** For `add`: a promise when the schema of the template validates asynchronously. */
  parse(input: EntryInput): NewEntry | Promise<NewEntry>;
  add(settings: Settings, entry: NewEntry): Operation<"added" | OutboxState>;
  /** The body of a correction. The template is that of the entry. */
  prepareCorrection(userId: UserId, request: unknown, options?: TemplateOption): Correction;
  correct(correction: Correction, settings: Settings): Operation<CorrectionResult>;
}

interface Correction {
  user: UserRef;
  toBody(templateId: string): string;
}

/**
 * @param open reads the settings, once; rejects while the tables cannot be used.
 */
export function createCore<Transaction>(
  options: OutboxOptions<Transaction>,
  steps: IssuingSteps<Card>,
  database: OutboxDatabase,
  open: () => Promise<Settings>,
): Core {
  const { retentionDays = 30, onIssued, onRejected, testing = {} } = options;
  const { random = Math.random } = testing;
  const clock = steps.clock;
  requireNumber("retentionDays", retentionDays, 1, 3_650);
  const retentionMs = retentionDays * 86_400_000;
  const report = createReport(options, clock);
  let settings: Settings | undefined;
  const parts: Omit<Recorder, "settings"> = {
    deriveKey: ({ template: templateId, userId }, keySuffix) =>
      deriveKey(steps, templateId, userId, keySuffix).idempotencyKey,
    onIssued: onIssued as Recorder["onIssued"],
    onRejected: onRejected as Recorder["onRejected"],
    random,
  };
  const recorder: Recorder = {
    ...parts,
    get settings() {
      if (settings === undefined) throw new Error("The outbox is not open.");
      return settings;
    },
  };
  const sender = new Sender(database, steps, recorder, report);
  const loops = new Set<Loop>();
  const issuing = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  const closing = new AbortController();

  async function ready(): Promise<void> {
    if (closed !== undefined) throw invalid("The outbox is closed.");
    settings ??= await open();
  }

  /** @throws {IssuingError} `configuration` for an invalid user id. */
  function toRef(userId: UserId, { template }: TemplateOption = {}): UserRef {
    const id = template === undefined ? undefined : readTemplateId(template);
    return { userId: deriveKey(steps, id ?? "template", userId).userId, template: id };
  }

  const poll = () => {
    for (const loop of loops) loop.poll();
  };

  function startLoop(loopOptions: LoopOptions): Loop {
    const { deadlineMs } = steps;
    const context = { database, sender, report, clock, random, deadlineMs, retentionMs, ready };
    const loop = new Loop(context, loopOptions);
    loops.add(loop);
    const forgetLoop = () => void loops.delete(loop);
    loop.ended.then(forgetLoop, forgetLoop);
    return loop;
  }

  async function stopLoop(loop: Loop, graceMs = defaultGraceMs): Promise<void> {
    requireNumber("graceMs", graceMs, 0, maxTimerMs);
    loop.stop();
    const cancel = clock.after(graceMs, () => loop.abort());
    await loop.ended;
    cancel();
  }

  async function drain(drainOptions: DrainOptions = {}): Promise<OutboxCounts> {
    const { maxMs = Number.POSITIVE_INFINITY, maxEntries = Number.POSITIVE_INFINITY } = drainOptions;
    const { onProgress, signal } = drainOptions;
    requireNumber("maxMs", maxMs, 0, Number.POSITIVE_INFINITY);
    requireInteger("maxEntries", maxEntries, 0, Number.POSITIVE_INFINITY);
    const ownNames = ["maxMs", "maxEntries", "onProgress", "signal"];
    requireKnownOptions("drain", drainOptions, ["concurrency", "maxPerSecond", ...ownNames]);
    const workOptions = parseWorkOptions(drainOptions, 32);
    await ready();
    const progress = onProgress && createProgress(await database.read(countEntries([])), onProgress);
    const loop = startLoop({
      ...workOptions,
      maxIdleMs: drainIdleMs,
      maxEntries: signal?.aborted ? 0 : maxEntries,
      endsAtMs: clock.monotonicMs() + maxMs,
      ...(progress && { onProgress: progress }),
    });
    const stop = () => loop.stop();
    signal?.addEventListener("abort", stop, { once: true });
    await loop.ended;
    signal?.removeEventListener("abort", stop);
    const counts = await database.read(countEntries(sender.ownPauses));
    notify(onProgress, counts);
    return counts;
  }

  /** Adds what this process has done to the counts of the beginning: counting a million entries takes a moment. */
  function createProgress(counts: OutboxCounts, onProgress: (counts: OutboxCounts) => void) {
    let reportedAtMs = clock.monotonicMs();
    return ({ state, end }: Partial<AttemptResult> = {}): void => {
      if (state !== undefined) {
        counts[state] += 1;
        counts.waiting -= 1;
      }
      const nowMs = clock.monotonicMs();
      const isPaused = end === "failed" && sender.pauses.length > 0; // a pause is reported while it lasts
      if (nowMs - reportedAtMs < progressIntervalMs && !isPaused) return;
      reportedAtMs = nowMs;
      notify(onProgress, { ...counts, paused: sender.pauses });
    };
  }

  async function* list(listOptions: ListOptions = {}) {
    requireKnownOptions("list", listOptions, ["state", "limit", "after"]);
    const { state, limit = Number.POSITIVE_INFINITY, after } = listOptions;
    requireState(state);
    requireInteger("limit", limit, 0, Number.POSITIVE_INFINITY);
    await ready();
    let afterId = 0;
    if (after !== undefined) {
      const row = await database.read(findEntry(toRef(after.userId, after)));
      if (row === undefined) throw invalid("after is not an entry of this outbox.");
      afterId = row.id;
    }
    for await (const row of readEntries(database, state, afterId, limit)) yield toEntry(row);
  }

  async function find(user: UserRef): Promise<OutboxEntry | undefined> {
    const row = await database.read(findEntry(user));
    return row && toEntry(row);
  }

  async function requireEntry(user: UserRef): Promise<OutboxEntry> {
    const entry = await find(user);
    if (entry !== undefined) return entry;
    throw invalid("There is no entry of this user and template.");
  }

  const outbox: Outbox = {
    async addAll(entries) {
      await ready();
      const counts = { added: 0, known: 0 };
      let batch: NewEntry[] = [];
      const write = async () => {
        const added = await database.write(addBatch(recorder.settings, batch), true);
        counts.added += added;
        counts.known += batch.length - added;
        batch = [];
      };
      for await (const input of entries) {
        batch.push(await parseNewEntry(steps, input));
        if (batch.length === batchSize) await write();
      }
      if (batch.length > 0) await write();
      poll();
      return counts;
    },
    async issue(userId, issueOptions = {}) {
      const user = toRef(userId, issueOptions);
      const { deadlineMs = steps.deadlineMs, signal } = issueOptions;
      requireKnownOptions("issue", issueOptions, ["template", "deadlineMs", "signal"]);
      requireNumber("deadlineMs", deadlineMs, 1, maxTimerMs);
      await ready();
      const issued = issueNow({ database, sender, clock, closing: closing.signal }, user, deadlineMs, signal);
      const end = () => void issuing.delete(issued);
      issuing.add(issued);
      issued.then(end, end);
      return issued;
    },
    work(workOptions = {}) {
      if (closed !== undefined) throw invalid("The outbox is closed.");
      requireKnownOptions("work", workOptions, ["concurrency", "maxPerSecond", "pollMs"]);
      const parsed = parseWorkOptions(workOptions, 8);
      const endless = Number.POSITIVE_INFINITY;
      const loop = startLoop({ ...parsed, maxIdleMs: endless, maxEntries: endless, endsAtMs: endless });
      const stop: OutboxWorker["stop"] = (stopOptions) => stopLoop(loop, stopOptions?.graceMs);
      return { stop, [Symbol.asyncDispose]: () => stop() };
    },
    drain,
    async resolve(userId, resolution, templateOption) {
      const user = toRef(userId, templateOption);
      if (
        typeof resolution !== "object" ||
        resolution === null ||
        !("cardId" in resolution || "noCard" in resolution)
      )
        throw invalid("resolve needs { cardId } or { noCard: true }.");
      await ready();
      const write = (isDelivering: boolean) =>
        database.write(resolveEntry(recorder, user, resolution, isDelivering), true);
      let failure: CallbackError | undefined;
      const { row, result } = await write(true).catch((error: unknown) => {
        if (!(error instanceof CallbackError)) throw error;
        failure = error;
        return write(false);
      });
      if (result === "another-card")
        throw invalid(`The card ${row.cardId} is recorded for this user, and stays.`);
      if (failure !== undefined) sender.reportUndelivered(row, failure);
      poll();
      return requireEntry(user);
    },
    async retry(userId, templateOption) {
      const user = toRef(userId, templateOption);
      await ready();
      await database.write(retryEntry(recorder, user), true);
      poll();
      return requireEntry(user);
    },
    async forget(userId, templateOption) {
      const user = toRef(userId, templateOption);
      await ready();
      const toKeyHash = ({ template }: { template: string }) =>
        deriveKey(steps, template, user.userId).keyHash;
      return database.write(forgetEntry(user, toKeyHash, retentionMs), true);
    },
    async resume(resumeOptions = {}) {
      requireKnownOptions("resume", resumeOptions, ["resend"]);
      const { resend = false } = resumeOptions;
      await ready();
      const unknown = await database.write(resumeCopy(resend));
      poll();
      return unknown;
    },
    async get(userId, templateOption) {
      const user = toRef(userId, templateOption);
      await ready();
      return find(user);
    },
    list,
    async count() {
      await ready();
      return database.read(countEntries(sender.ownPauses));
    },
    async findUser(cardId) {
      if (typeof cardId !== "string") throw invalid("findUser needs the id of a card.");
      await ready();
      return database.read(findUserOfCard(cardId));
    },
    close({ graceMs = defaultGraceMs } = {}) {
      requireNumber("graceMs", graceMs, 0, maxTimerMs);
      closing.abort();
      closed ??= Promise.all([...loops].map((loop) => stopLoop(loop, graceMs)))
        .then(() => Promise.allSettled(issuing))
        .then(() => Promise.all(sender.running.values()))
        .then(() => database.close());
      return closed;
    },
    [Symbol.asyncDispose]: () => outbox.close(),
  };

  return {
    outbox,
    poll,
    parse: (input) => {
      if (closed !== undefined) throw invalid("The outbox is closed.");
      return parseNewEntry(steps, input);
    },
    add: addEntry,
    prepareCorrection(userId, request, templateOption) {
      if (closed !== undefined) throw invalid("The outbox is closed.");
      const user = toRef(userId, templateOption);
      const toBody = (templateId: string) => {
        const template = templateOption?.template;
        const prepared = steps.prepare(typeof template === "object" ? template : templateId, request);
        if (prepared instanceof Promise) throw asynchronousSchema("correct");
        return prepared.body;
      };
      toBody("template"); // an invalid form is rejected before anything is read
      return { user, toBody };
    },
    *correct({ user, toBody }, current) {
      const row = yield* findEntry(user, true);
      return yield* correctEntry({ ...parts, settings: current }, row, toBody(row?.template ?? "template"));
    },
  };
}

export const asynchronousSchema = (method: string) =>
  invalid(
    `The schema of the template validates asynchronously, and ${method} is synchronous: validate the form before, and pass the id of the template.`,
  );

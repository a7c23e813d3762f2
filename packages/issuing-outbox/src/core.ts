/** The methods of an outbox on any database. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
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
  findEntry,
  forgetEntry,
  requireEntry,
  requireResolution,
  resolveEntry,
  retryEntry,
  type UserRef,
} from "./changes.ts";
import { type CorrectionResult, correctEntry } from "./correction.ts";
import { CallbackError, type OutboxDatabase } from "./database.ts";
import type { OutboxEntry, OutboxState } from "./entry.ts";
import { countEntries, readEntries, requireState } from "./inspect.ts";
import { Closing, issueNow } from "./issue.ts";
import { Loops, parseGrace } from "./loops.ts";
import type { EntryInput, ListOptions, Outbox, OutboxOptions, TemplateOption } from "./outbox.ts";
import type { Recorder } from "./record.ts";
import { createReport } from "./report.ts";
import { toEntry } from "./rows.ts";
import { Sender } from "./sender.ts";
import { resumeCopy, type Settings } from "./settings.ts";
import type { Operation } from "./statement.ts";
import { requireInteger, requireNumber } from "./worker.ts";

/** The number of entries that `addAll` adds in one transaction. */
const batchSize = 200;
/** PostgreSQL ends one of two processes that add the same users in another order. */
const maxDeadlocks = 5;
/** After a crash an entry waits for the end of its attempt's deadline. */
const maxDeadlineMs = 3_600_000;

/** The methods that do not depend on the database, and the steps of `add` and `correct`, which run in the user's transaction. */
export interface Core {
  outbox: Outbox;
  /** Makes the workers of this process look for entries. */
  poll(): void;
  /** Validates the input of `add`. */
  parse(input: EntryInput): NewEntry;
  add(settings: Settings, entry: NewEntry): Operation<"added" | OutboxState>;
  /** Validates the input of `correct`. The template is that of the entry. */
  prepareCorrection(userId: UserId, request: unknown, options?: TemplateOption): Correction;
  correct(correction: Correction, settings: Settings): Operation<CorrectionResult>;
}

interface Correction {
  user: UserRef;
  /** JSON. */
  body: string;
}

/** @param open reads the settings once; rejects while the tables cannot be used. */
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
  requireNumber("deadlineMs of the client", steps.deadlineMs, 1, maxDeadlineMs);
  const retentionMs = retentionDays * 86_400_000;
  const report = createReport(options, clock);
  let settings: Settings | undefined;
  const recorder: Recorder = {
    get settings() {
      if (settings === undefined) throw new Error("The outbox is not open.");
      return settings;
    },
    deriveKey: ({ template: templateId, userId }, keySuffix) =>
      deriveKey(steps, templateId, userId, keySuffix).idempotencyKey,
    onIssued: onIssued as Recorder["onIssued"],
    onRejected: onRejected as Recorder["onRejected"],
    random,
  };
  const sender = new Sender(database, steps, recorder, report);
  const issuing = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  const closing = new Closing();

  function requireNotClosed(): void {
    if (closed !== undefined) throw invalid("The outbox is closed.");
  }

  async function ready(): Promise<void> {
    requireNotClosed();
    settings ??= await open();
  }

  const { deadlineMs: defaultDeadlineMs } = steps;
  const loops = new Loops({
    ...{ database, sender, report, clock, random, retentionMs, ready },
    deadlineMs: defaultDeadlineMs,
  });

  /** @throws {IssuingError} `configuration` for an invalid user id. */
  function toRef(userId: UserId, { template }: TemplateOption = {}): UserRef {
    const id = template === undefined ? undefined : readTemplateId(template);
    return { userId: deriveKey(steps, id ?? "template", userId).userId, template: id };
  }

  const parse = (input: EntryInput) => parseNewEntry(steps, input);

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

  async function readEntry(user: UserRef): Promise<OutboxEntry> {
    return toEntry(await database.read(requireEntry(user, false)));
  }

  async function writeBatch(batch: readonly NewEntry[]): Promise<number> {
    for (let deadlocks = 1; ; deadlocks += 1) {
      try {
        return await database.write(addBatch(recorder.settings, batch), true);
      } catch (error) {
        if (deadlocks > maxDeadlocks || (error as { code?: unknown } | null)?.code !== "40P01") throw error;
      }
    }
  }

  const outbox: Outbox = {
    async addAll(entries) {
      await ready();
      const counts = { added: 0, known: 0 };
      let batch: NewEntry[] = [];
      const write = async () => {
        const added = await writeBatch(batch);
        counts.added += added;
        counts.known += batch.length - added;
        batch = [];
      };
      for await (const input of entries) {
        batch.push(parse(input));
        if (batch.length === batchSize) await write();
      }
      if (batch.length > 0) await write();
      loops.poll();
      return counts;
    },
    async issue(userId, issueOptions = {}) {
      const user = toRef(userId, issueOptions);
      const { deadlineMs = defaultDeadlineMs, signal } = issueOptions;
      requireKnownOptions("issue", issueOptions, ["template", "deadlineMs", "signal"]);
      requireNumber("deadlineMs", deadlineMs, 1, maxDeadlineMs);
      await ready();
      const issued = issueNow({ database, sender, clock, closing }, user, deadlineMs, signal);
      const end = () => void issuing.delete(issued);
      issuing.add(issued);
      issued.then(end, end);
      return issued;
    },
    work(workOptions = {}) {
      requireNotClosed();
      return loops.work(workOptions);
    },
    drain: (drainOptions = {}) => loops.drain(drainOptions),
    async resolve(userId, resolution, templateOption) {
      const user = toRef(userId, templateOption);
      requireResolution(resolution);
      await ready();
      const write = (isDelivering: boolean) =>
        database.write(resolveEntry(recorder, user, resolution, isDelivering), true);
      let failure: CallbackError | undefined;
      const { row, result, callbackInMs } = await write(true).catch((error: unknown) => {
        if (!(error instanceof CallbackError)) throw error;
        failure = error;
        return write(false);
      });
      if (result === "another-card")
        throw invalid(`The card ${row.cardId} is already recorded for this user, so nothing was changed.`);
      if (failure !== undefined) sender.reportUndelivered(row, failure, callbackInMs);
      loops.poll();
      return readEntry(user);
    },
    async retry(userId, templateOption) {
      const user = toRef(userId, templateOption);
      await ready();
      await database.write(retryEntry(recorder, user), true);
      loops.poll();
      return readEntry(user);
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
      loops.poll();
      return unknown;
    },
    async get(userId, templateOption) {
      const user = toRef(userId, templateOption);
      await ready();
      const row = await database.read(findEntry(user));
      return row && toEntry(row);
    },
    list,
    async count() {
      await ready();
      return database.read(countEntries(sender.ownPauses));
    },
    close(closeOptions = {}) {
      const graceMs = parseGrace(closeOptions.graceMs);
      closed ??= close(graceMs);
      return closed;
    },
    [Symbol.asyncDispose]: () => outbox.close(),
  };

  async function close(graceMs: number): Promise<void> {
    closing.begin();
    const cancel = clock.after(graceMs, () => closing.abort());
    await loops.stop(graceMs);
    await Promise.allSettled(issuing);
    await Promise.all(sender.running.values());
    cancel();
    await database.close();
  }

  return {
    outbox,
    poll: () => loops.poll(),
    parse(input) {
      requireNotClosed();
      return parse(input);
    },
    add: addEntry,
    prepareCorrection(userId, request, templateOption) {
      requireNotClosed();
      const user = toRef(userId, templateOption);
      return { user, body: steps.prepare(user.template ?? "template", request).body };
    },
    *correct({ user, body }, current) {
      const row = yield* findEntry(user, true);
      return yield* correctEntry({ deriveKey: recorder.deriveKey, settings: current }, row, body);
    },
  };
}

/**
 * Changes that the program or a person makes to an entry. `forget` deletes it in every state.
 *
 * | state | `correct` | `retry` | `resolve` |
 * |---|---|---|---|
 * | `waiting`, and nothing can have been received | replaces the form | due now | throws |
 * | `waiting` otherwise | returns `waiting` | due now, unless it is being sent | throws |
 * | `rejected` | new form; a new key after a 422 | old form; a new key after a 422 | throws |
 * | `rejected` while a lost request could run | old form, old key | the same | throws |
 * | `unknown` | returns `unknown` | throws | `issued`, or sends the form again |
 * | `issued` | returns `issued` | its callback is due now | throws |
 */

import { createTypeError } from "@loyalty-cards/internal/errors";
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { makeJobDue, restartJob, retryJob } from "@loyalty-cards/internal/jobs/add";
import { deleteJob } from "@loyalty-cards/internal/jobs/erase";
import { getNowMs } from "@loyalty-cards/internal/jobs/read";
import { settleRow } from "@loyalty-cards/internal/jobs/settle";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import type { Job, JobRef } from "@loyalty-cards/internal/jobs/tables";
import { keyLifetimeMs } from "@loyalty-cards/internal/key-retention";
import type { UserId } from "@loyalty-cards/issuing-client";
import type { OutboxContext } from "./context.ts";
import type { OutboxEntry, OutboxEntryError } from "./entry.ts";
import {
  deriveKey,
  lockExistingJob,
  lockJob,
  parseMethodRef,
  requireCardId,
  toEntry,
  toRef,
} from "./job.ts";
import type { Resolution, TemplateOption } from "./outbox.ts";
import { recordEnd } from "./record.ts";
import { maxRunningMs } from "./verdict.ts";

/**
 * What `correct` did. `accepted`: the new form is sent. `waiting`: the old one may get a card, and
 * is sent, or sent again; call it again when that is rejected. `unknown`: nothing changes until
 * `resolve`. `issued`: there is a card. `absent`: there is no entry.
 */
export type CorrectionResult = "accepted" | "waiting" | "unknown" | "issued" | "absent";

/** How much time is left, at least, to send the old form once more before its key is forgotten. */
const minAskingMs = 3_600_000;

/** The statements of `correct`, for the user's transaction. */
export function* correct(
  context: OutboxContext,
  userId: UserId,
  request: unknown,
  options?: TemplateOption,
): Statements<CorrectionResult> {
  if ("request" in Object(userId))
    throw createTypeError(
      "outbox.correct takes the transaction, then the user's id, then the new request: outbox.correct(transaction, userId, request).",
    );
  const job = yield* lockJob(
    context.tables,
    parseMethodRef(context, "correct", { userId, options }),
  );
  if (job === undefined) return "absent";
  const { body } = context.client.prepare(toRef(job).template, request);
  if (job.state === "issued" || job.state === "unknown") return job.state;
  if (job.state === "rejected") return yield* correctRejected(context, job, body);

  const mayBeSent = job.firstAttemptAtMs !== undefined || job.lease !== undefined;
  if (mayBeSent) return "waiting";
  if (body !== job.body) yield* beginAnew(context, job, body);
  return "accepted";
}

/** Sends a form instead of one that the service rejected, unless the old one is sent once more. */
function* correctRejected(
  context: OutboxContext,
  job: Job,
  body: string | undefined,
): Statements<"accepted" | "waiting"> {
  const delayMs = getDelayOfOldForm(job, yield* getNowMs());
  if (delayMs === undefined) {
    yield* beginAnew(context, job, body);
    return "accepted";
  }
  yield* retryJob(context.tables, job.id, delayMs);
  return "waiting";
}

/**
 * How long until the old form is sent once more: a request without a response may have issued a
 * card after the rejection. It is sent when that request has ended, because an attempt before then
 * proves nothing.
 * @returns undefined when the rejection is final: no such request can have run after it, or 23
 * hours have passed, and the service may forget the key.
 */
function getDelayOfOldForm(
  { uncertainAtMs: lostAtMs, lastAttemptAtMs: rejectedAtMs = 0, firstAttemptAtMs = 0 }: Job,
  nowMs: number,
): number | undefined {
  if (lostAtMs === undefined) return undefined;
  const endsAtMs = lostAtMs + maxRunningMs;
  if (rejectedAtMs >= endsAtMs) return undefined;
  const isTooLate = nowMs >= firstAttemptAtMs + keyLifetimeMs - minAskingMs;
  if (nowMs >= endsAtMs && isTooLate) return undefined;
  return Math.max(0, endsAtMs - nowMs);
}

/**
 * Sends a form as if there were no earlier attempt.
 * @param body default: the old form.
 */
function* beginAnew(
  { tables, client }: OutboxContext,
  job: Job,
  body = requireBody(job),
): Statements<void> {
  const { suffix, key } = isKeySpent(job) ? getNextKey(client, job) : job;
  yield* restartJob(tables, { id: job.id, suffix, key, body });
}

/** The service may repeat a 422 for the same key, and a 409 that does not end. */
function isKeySpent({ state, error }: Job): boolean {
  const code = (error as OutboxEntryError | undefined)?.code;
  if (state === "unknown") return code === "conflict";
  return code === "validation";
}

/** The next suffix, and its key. They are the same in a restored copy of the database. */
function getNextKey(client: IssuingSteps<unknown>, job: Job): Pick<Job, "suffix" | "key"> {
  const [, base = job.suffix, number = "1"] = /^(.*)~(\d+)$/s.exec(job.suffix) ?? [];
  const suffix = `${base}~${Number(number) + 1}`;
  return { suffix, key: deriveKey(client, { ...job, suffix }) };
}

function requireBody({ body, state }: Job): string {
  if (body !== undefined) return body;
  const advice = state === "unknown" ? "forget, and add the user again" : "correct with a new form";
  throw createTypeError(`The form of this entry was erased after the retention: use ${advice}.`);
}

/** Decides an entry that is unknown, as a person found out. */
export async function resolve(
  context: OutboxContext,
  userId: UserId,
  resolution: Resolution,
  options?: TemplateOption,
): Promise<OutboxEntry> {
  const jobRef = parseMethodRef(context, "resolve", { userId, options });
  requireResolution(resolution);
  const { cardId } = resolution;
  if (cardId === undefined)
    return change(context, jobRef, (job) => beginAnew(context, requireUnknown(job)));
  const { database, tables } = context;
  const readEntry = () => database.transact(() => lockExistingJob(tables, jobRef));
  const { entry } = await recordEnd(context, {
    job: await readEntry(),
    end: { state: "issued", effect: "unchanged", result: { cardId }, isErased: true },
    *recordResolution(end) {
      // Somebody else may have resolved the entry since it was read.
      const job = requireUnknown(yield* lockExistingJob(tables, jobRef));
      return yield* settleRow(tables, job, end);
    },
    transact: database.transact,
  });
  return entry ?? toEntry(await readEntry());
}

/**
 * Makes an entry due now. A form that was rejected is sent again, because the template may have
 * changed: after a request without a response, when that has ended.
 */
export async function retry(
  context: OutboxContext,
  userId: UserId,
  options?: TemplateOption,
): Promise<OutboxEntry> {
  const jobRef = parseMethodRef(context, "retry", { userId, options });
  return change(context, jobRef, (job) => {
    if (job.state === "unknown")
      throw createTypeError(
        "A card may exist for this entry, so another request could issue a second one: look for the card in the service's console, and use resolve.",
      );
    if (job.state === "rejected") return correctRejected(context, job, undefined);
    return makeJobDue(context.tables, job.id);
  });
}

/** @returns the entry after the change. */
async function change(
  { database, tables }: OutboxContext,
  jobRef: JobRef,
  create: (job: Job) => Statements<unknown>,
): Promise<OutboxEntry> {
  const changed = await database.transact(function* () {
    const job = yield* lockExistingJob(tables, jobRef);
    yield* create(job);
    return yield* lockExistingJob(tables, jobRef);
  });
  return toEntry(changed);
}

export async function forget(
  context: OutboxContext,
  userId: UserId,
  options?: TemplateOption,
): Promise<boolean> {
  const { database, tables } = context;
  const jobRef = parseMethodRef(context, "forget", { userId, options });
  return database.transact(function* () {
    const job = yield* lockJob(tables, jobRef);
    if (job !== undefined) yield* deleteJob(tables, job.id);
    return job !== undefined;
  });
}

/** @throws {TypeError} for an entry in another state. */
function requireUnknown(job: Job): Job {
  if (job.state === "unknown") return job;
  throw createTypeError(`resolve is for entries that are unknown; this one is ${job.state}.`);
}

/**
 * @throws {TypeError} for a value that has not exactly one of a valid `cardId` and `noCard: true`.
 */
function requireResolution(resolution: Resolution): void {
  const { cardId, noCard } = resolution ?? {};
  if ((cardId === undefined) !== (noCard === true))
    throw createTypeError("resolve needs { cardId } or { noCard: true }, and not both.");
  if (cardId !== undefined) requireCardId(cardId);
}

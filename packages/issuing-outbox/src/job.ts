/**
 * An entry is a job of the engine, whose topic is the template, and whose name is the user. Only
 * this file translates between them: what a program passes, the one job that it means, and what the
 * program gets. Elsewhere in this package a `job` is the row of the engine, and an `entry` what the
 * program sees of it.
 */

import { createTypeError } from "@loyalty-cards/internal/errors";
import { textsOfMissingValues } from "@loyalty-cards/internal/format";
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import type { NewJob } from "@loyalty-cards/internal/jobs/add";
import type { OpenBreaker } from "@loyalty-cards/internal/jobs/breaker";
import type { Statements } from "@loyalty-cards/internal/jobs/statement";
import {
  findJobs,
  type Job,
  type JobRef,
  type JobTables,
  lockJobs,
  ranks,
} from "@loyalty-cards/internal/jobs/tables";
import { isAttemptTime } from "@loyalty-cards/internal/key-retention";
import {
  describeUnknownName,
  type OptionNames,
  requireKnownNames,
} from "@loyalty-cards/internal/known-options";
import type { UserId } from "@loyalty-cards/issuing-client";
import type { OutboxContext } from "./context.ts";
import {
  type EntryRef,
  entryNames,
  type OutboxCounts,
  type OutboxEntry,
  type OutboxEntryError,
  type OutboxState,
  type OwedCard,
  type StoredCard,
  type StoredError,
} from "./entry.ts";
import type { TemplateOption } from "./outbox.ts";

/** The rest of the 255 that a column holds are for the numbers of corrections. */
const maxSuffixLength = 240;

/**
 * @throws {TypeError} naming what is wrong.
 * @throws {IssuingError} for a request that `issueCard` would not send.
 */
export function parseNewEntry<Fields>(
  client: IssuingSteps<unknown>,
  input: OwedCard<Fields>,
): NewJob {
  if (typeof input !== "object" || input === null || !("request" in input))
    throw createTypeError(
      "outbox.add takes the transaction, and then the entry: outbox.add(transaction, { userId, template, request }).",
    );
  for (const name of Object.keys(input))
    if (!Object.hasOwn(entryNames, name)) throw new TypeError(describeUnknownMember(name));
  // Without their values, such as that of a column which is not set, a second card is possible.
  for (const name of ["keySuffix", "firstAttemptAt"] as const)
    if (name in input && (input[name] ?? "") === "")
      throw createTypeError(
        `${name} is present but undefined, null or empty: set it, or leave it out.`,
      );
  const { userId, template, request, keySuffix: suffix = "", firstAttemptAt } = input;
  const { templateId, body } = client.prepare(template, request);
  requireStorable("template", templateId);
  const job = { topic: templateId, name: parseUserId(client, userId), suffix };
  const key = deriveKey(client, job);
  requireStorable("keySuffix", suffix, maxSuffixLength);
  return {
    ...job,
    key,
    body,
    firstAttemptAtMs:
      firstAttemptAt === undefined
        ? undefined
        : parseFirstAttempt(firstAttemptAt, client.clock.now()),
  };
}

const describeUnknownMember = (name: string): string =>
  describeUnknownName("The entry of outbox.add", name, { names: entryNames, noun: "member" });

/** The key that `issueCard` derives. */
export function deriveKey(
  client: IssuingSteps<unknown>,
  { topic, name, suffix }: Pick<Job, "topic" | "name" | "suffix">,
): string {
  const user = { templateId: topic, userId: name };
  return client.deriveKey(suffix === "" ? user : { ...user, keySuffix: suffix });
}

/** @throws {TypeError} after `close`. */
export function requireOpen({ lifecycle }: Pick<OutboxContext, "lifecycle">): void {
  if (lifecycle.phase === "closing") throw createTypeError("The outbox is closed.");
}

/**
 * Reads which entry a call is about.
 * @throws {TypeError} {IssuingError} for an invalid id, and after `close`.
 */
export function parseJobRef(
  context: OutboxContext,
  userId: UserId,
  { template }: TemplateOption = {},
): JobRef {
  requireOpen(context);
  const name = parseUserId(context.client, userId);
  return template === undefined ? { name } : { name, topic: parseTemplateId(template) };
}

const templateNames = { template: true } satisfies OptionNames<TemplateOption>;

/**
 * Reads which entry a method is about that has no other option than the template.
 * @throws as `parseJobRef`, and {TypeError} for an unknown option: another entry of the user could
 * be meant.
 */
export function parseMethodRef(
  context: OutboxContext,
  method: string,
  { userId, options = {} }: { userId: UserId; options: TemplateOption | undefined },
): JobRef {
  requireKnownNames(method, options, templateNames);
  return parseJobRef(context, userId, options);
}

/**
 * @returns the user's id as text.
 * @throws {TypeError} {IssuingError} for an id that no database stores.
 */
function parseUserId(client: IssuingSteps<unknown>, userId: UserId): string {
  const text = client.formatUserId(userId);
  requireStorable("userId", text);
  return text;
}

/** @throws {TypeError} for a value that is not a template. */
function parseTemplateId(template: unknown): string {
  const id = typeof template === "string" ? template : (template as { id?: unknown } | null)?.id;
  if (typeof id !== "string" || id.trim() === "")
    throw createTypeError(
      "template must be the id of a template, or a template of defineTemplate.",
    );
  requireStorable("template", id);
  return id;
}

export function requireCardId(cardId: unknown): asserts cardId is string {
  if (typeof cardId !== "string" || cardId.trim() === "" || textsOfMissingValues.includes(cardId))
    throw createTypeError(
      "cardId must be an id: it is blank, not text, or the text of a missing value.",
    );
  requireStorable("cardId", cardId);
}

/** Whether both databases can store the text, and find it by an index. */
export const isStorable = (text: string, maxLength: number): boolean =>
  text.length <= maxLength && text.isWellFormed() && !text.includes("\0");

function requireStorable(name: string, id: string, maxLength = 255): void {
  if (!isStorable(id, maxLength))
    throw createTypeError(
      `${name} must be well-formed text of at most ${maxLength} characters, without NUL.`,
    );
}

/**
 * Parses `firstAttemptAt`. A time in the future, by up to a minute, is stored as now: the clock
 * that took it was ahead.
 */
function parseFirstAttempt(value: Date | number, nowMs: number): number {
  const atMs = Number(value);
  if (isAttemptTime(atMs, nowMs)) return Math.round(Math.min(atMs, nowMs));
  throw createTypeError(
    "firstAttemptAt must be a Date or a time in milliseconds after 2000, and not in the future.",
  );
}

/** @throws {TypeError} for a user with several templates when the topic is undefined. */
export function* findJob(tables: JobTables, ref: JobRef): Statements<Job | undefined> {
  return atMostOne(yield* findJobs(tables, ref));
}

/**
 * Finds the job of an entry that the transaction changes. It is locked until the end, and has what
 * is sent.
 */
export function* lockJob(tables: JobTables, ref: JobRef): Statements<Job | undefined> {
  return atMostOne(yield* lockJobs(tables, ref));
}

function atMostOne([job, other]: readonly Job[]): Job | undefined {
  if (other === undefined) return job;
  throw createTypeError("This user has entries of several templates: pass { template } too.");
}

/** @throws {TypeError} when there is no such entry. */
export function* lockExistingJob(tables: JobTables, ref: JobRef): Statements<Job> {
  const job = yield* lockJob(tables, ref);
  if (job !== undefined) return job;
  throw createTypeError("There is no entry of this user and template.");
}

export function toEntry(job: Job): OutboxEntry {
  const state = job.state as OutboxState;
  return {
    userId: job.name,
    template: job.topic,
    state,
    idempotencyKey: job.key,
    attempts: job.attempts,
    ...(state === "waiting" && job.rank !== undefined && { nextAttemptAt: new Date(job.dueAtMs) }),
    ...(job.firstAttemptAtMs !== undefined && { firstAttemptAt: new Date(job.firstAttemptAtMs) }),
    ...(job.result as StoredCard | undefined),
    ...((state === "issued" || state === "rejected") && {
      isDelivered: job.rank !== ranks.callback,
    }),
    ...(job.error !== undefined && { error: toShownError(job.error as StoredError) }),
    addedAt: new Date(job.addedAtMs),
  };
}

const toShownError = ({ firstConflictAtMs: _, ...shown }: StoredError): OutboxEntryError => shown;

export function toRef({ name, topic }: Pick<Job, "name" | "topic">): EntryRef {
  return { userId: name, template: topic };
}

export function toPause({ topic, sinceMs, reason }: OpenBreaker): OutboxCounts["paused"][number] {
  return { template: topic, since: new Date(sinceMs), reason };
}

/** Entries of the outbox: what is added, what is read, and what the whole outbox has. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { type Job, type Jobs, type NewJob, ranks } from "@loyalty-cards/internal/jobs/jobs";
import type { Operation } from "@loyalty-cards/internal/jobs/statement";
import { requireNumber } from "@loyalty-cards/internal/limits";
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import type {
  FieldValues,
  IssueCardRequest,
  RejectedField,
  Template,
  UserId,
} from "@loyalty-cards/issuing-client";

/** `unknown`: a card may exist, and the service has forgotten the key. A person decides, with `resolve`. */
export type OutboxState = "waiting" | "issued" | "rejected" | "unknown";

/** A card that is owed to a user. */
export interface OwedCard<Fields = FieldValues> {
  /**
   * Your own user's id, created on your server and saved in the same transaction: an integer, or text of at most 255 characters without
   * NUL. `42`, `"42"` and `42n` are the same user.
   */
  userId: UserId;
  template: string | Template<Fields>;
  /** What `issueCard` takes. Erased when the card is issued. */
  request: IssueCardRequest<NoInfer<Fields>>;
  /**
   * Part of the key, as in `issueCard`, at most 240 characters. Set it for users whose card was requested with it before, or who get
   * another card on purpose.
   */
  keySuffix?: string;
  /** When this key was first used. Set it for users whose card was requested before they were added. */
  firstAttemptAt?: Date | number;
}

/** An entry, without the customer's data: ids, state and times. */
export interface OutboxEntry {
  /** The user's id as text. */
  userId: string;
  /** The id of the template. */
  template: string;
  state: OutboxState;
  /** The key of the next request, or of the last one: for support. */
  idempotencyKey: string;
  /** How many requests were begun with this form. */
  attempts: number;
  /** Set while the entry is `waiting`. A time in the past means as soon as a worker is free and the template is not paused. */
  nextAttemptAt?: Date;
  /** When the first request with this key began that the service may have received. Absent when there is none. */
  firstAttemptAt?: Date;
  /** Set when the entry is `issued`. */
  cardId?: string;
  /** The address of the card's page, for its links. Absent when it is not known: `getCard` returns it. */
  publicUrl?: string;
  /** Set when the entry is `issued` or `rejected`: whether `onIssued` or `onRejected` has succeeded. True when there is no such callback. */
  isDelivered?: boolean;
  /** Why the last attempt did not issue the card. Erased with the form. */
  error?: OutboxEntryError;
  addedAt: Date;
}

/** `userMessage` and `fields` can quote what the user typed: show them to the user, and do not log them. */
export interface OutboxEntryError {
  /** The `code` of the `IssuingError`; `aborted` when the worker was stopped. */
  code: string;
  /** Text for logs, without personal data. */
  message: string;
  /** Safe to show to the user: the `detail` of a 422, and a general sentence otherwise. */
  userMessage: string;
  /** The rejected members of the request. Empty when none are known. */
  fields: readonly RejectedField[];
}

/** The counts of a whole outbox, and the times to monitor. */
export interface OutboxCounts {
  waiting: number;
  issued: number;
  rejected: number;
  unknown: number;
  /** Issued or rejected entries whose callback has not succeeded. */
  undelivered: number;
  /** When the oldest waiting entry was added. */
  oldestWaitingAt?: Date;
  /** When the first waiting entry becomes `unknown`, unless it is sent successfully before. */
  nextExpiryAt?: Date;
  /**
   * Templates whose entries wait because the service failed for three of them in a row: one entry of each is tried at a time. `reason` is
   * the `code` of the last failure, such as `server`, `network`, `unauthorized` or `not-found`.
   */
  paused: { template: string; since: Date; reason: string }[];
}

/** The user and template of an entry. */
export interface EntryRef {
  userId: string;
  template: string;
}

/** The rest of the 255 that a column holds are for the numbers of corrections. */
const maxSuffixLength = 240;

/** @throws {TypeError} naming what is wrong. @throws {IssuingError} for a request that `issueCard` would not send. */
export function parseNewEntry<Fields>(steps: IssuingSteps<unknown>, input: OwedCard<Fields>): NewJob {
  if (typeof input !== "object" || input === null || !("request" in input))
    throw invalid(
      "outbox.add takes the transaction, and then the entry: outbox.add(transaction, { userId, template, request }).",
    );
  const { userId, template, request, keySuffix: suffix = "", firstAttemptAt } = input;
  requireStorable("keySuffix", suffix, maxSuffixLength);
  const { templateId, body } = steps.prepare(template, request);
  requireStorable("template", templateId);
  const name = parseUserId(steps, userId);
  return {
    topic: templateId,
    name,
    key: steps.deriveKey({ templateId, userId: name, ...(suffix !== "" && { keySuffix: suffix }) }),
    suffix,
    body,
    ...(firstAttemptAt !== undefined && {
      startedAtMs: parseFirstAttempt(firstAttemptAt, steps.clock.now()),
    }),
  };
}

/** @returns the user's id as text. @throws {TypeError} {IssuingError} for an id that no database stores. */
export function parseUserId(steps: IssuingSteps<unknown>, userId: UserId): string {
  const text = steps.formatUserId(userId);
  requireStorable("userId", text);
  return text;
}

/** @throws {TypeError} for a value that is not a template. */
export function parseTemplateId(template: unknown): string {
  const id = typeof template === "string" ? template : (template as { id?: unknown } | null)?.id;
  if (typeof id !== "string" || id.trim() === "")
    throw invalid("template must be the id of a template, or a template of defineTemplate.");
  requireStorable("template", id);
  return id;
}

export function requireCardId(cardId: unknown): asserts cardId is string {
  if (typeof cardId !== "string" || cardId.trim() === "") throw invalid("cardId must be an id.");
  requireStorable("cardId", cardId);
}

/** Whether both databases can store the text, and find it by an index. */
export const isStorable = (text: string, maxLength: number): boolean =>
  text.length <= maxLength && text.isWellFormed() && !text.includes("\0");

function requireStorable(name: string, id: string, maxLength = 255): void {
  if (!isStorable(id, maxLength))
    throw invalid(`${name} must be well-formed text of at most ${maxLength} characters, without NUL.`);
}

/** Parses `firstAttemptAt`: the database stores it, so it is not in the future by any clock. */
function parseFirstAttempt(value: Date | number, nowMs: number): number {
  const atMs = Number(value);
  if (value !== null && Number.isFinite(atMs) && atMs >= Date.UTC(2001, 0, 1) && atMs <= nowMs)
    return Math.round(atMs);
  throw invalid("firstAttemptAt must be a Date or a time in milliseconds after 2000, and not in the future.");
}

/** The template can be left out when the user has entries of one template only. */
export type UserRef = Pick<EntryRef, "userId"> & Partial<EntryRef>;

/**
 * @param isLocked locks the entry until the end of the transaction, which changes it.
 * @throws {TypeError} for a user with several templates when `template` is left out.
 */
export function* findEntry(
  jobs: Jobs,
  { userId, template }: UserRef,
  isLocked = false,
): Operation<Job | undefined> {
  const [job, other] = yield* jobs.findByName(userId, template, isLocked);
  if (other !== undefined)
    throw invalid("This user has entries of several templates: pass { template } too.");
  return job;
}

export function* requireEntry(jobs: Jobs, user: UserRef): Operation<Job> {
  const job = yield* findEntry(jobs, user, true);
  if (job !== undefined) return job;
  throw invalid("There is no entry of this user and template.");
}

export function toEntry(job: Job): OutboxEntry {
  const state = job.state as OutboxState;
  return {
    userId: job.name,
    template: job.topic,
    state,
    idempotencyKey: job.key,
    attempts: job.attempts,
    ...(state === "waiting" && { nextAttemptAt: new Date(job.dueAtMs) }),
    ...(job.startedAtMs !== undefined && { firstAttemptAt: new Date(job.startedAtMs) }),
    ...(job.result as StoredCard | undefined),
    ...((state === "issued" || state === "rejected") && { isDelivered: job.rank !== ranks.callback }),
    ...(job.error !== undefined && { error: job.error as OutboxEntryError }),
    addedAt: new Date(job.addedAtMs),
  };
}

/** What a job stores as its result. */
export interface StoredCard {
  cardId: string;
  publicUrl?: string;
}

export const toRef = ({ name, topic }: { name: string; topic: string }): EntryRef => ({
  userId: name,
  template: topic,
});

export const invalid = (message: string) => withSafeMessage(new TypeError(message));

/** @throws {TypeError} naming the option, its range and its value. */
export function requireInteger(name: string, value: unknown, min: number, max: number): void {
  requireNumber(name, value, min, max);
  if (Number.isInteger(value) || value === Number.POSITIVE_INFINITY) return;
  throw invalid(`${name} must be an integer; it is ${String(value)}.`);
}

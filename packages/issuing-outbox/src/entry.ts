/** Entries of the outbox, as the program sees them. */
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import type {
  FieldValues,
  IssueCardRequest,
  RejectedField,
  Template,
  UserId,
} from "@loyalty-cards/issuing-client";

/**
 * `unknown`: a card may exist, and no request can find out, because the service may have forgotten
 * the key, or kept responding 409. A person decides, with `resolve`.
 */
export type OutboxState = "waiting" | "issued" | "rejected" | "unknown";

/** A card that is owed to a user. An optional member that is present but not set throws. */
export interface OwedCard<Fields = FieldValues> {
  /**
   * Your own user's id, created on your server and saved in the same transaction: an integer, or
   * text of at most 255 characters without NUL. `42`, `"42"` and `42n` are the same user.
   */
  userId: UserId;
  template: string | Template<Fields>;
  /** The form: what `issueCard` takes, stored as `body`. Erased when the card is issued. */
  request: IssueCardRequest<NoInfer<Fields>>;
  /**
   * Part of the key, as in `issueCard`, at most 240 characters. Set it for users whose card was
   * requested with it before, or who get another card on purpose.
   */
  keySuffix?: string;
  /**
   * When this key was first used. Set it for users whose card was requested before they were added.
   */
  firstAttemptAt?: Date | number;
}

export const entryNames = {
  userId: true,
  template: true,
  request: true,
  keySuffix: true,
  firstAttemptAt: true,
} satisfies OptionNames<OwedCard>;

/** An entry, without the customer's data: ids, state and times. */
export interface OutboxEntry {
  /** The user's id as text. */
  userId: string;
  /** The id of the template. */
  template: string;
  state: OutboxState;
  /** The key of the next request, or of the last one: for support. */
  idempotencyKey: string;
  /**
   * How many requests were begun since the entry was added, or begun anew by `correct`, `retry` or
   * `resolve`.
   */
  attempts: number;
  /**
   * Set while the entry is `waiting`, until an attempt finds that its form is missing. A time in
   * the past means as soon as a worker is free and the template is not paused.
   */
  nextAttemptAt?: Date;
  /**
   * When the first request with this key began that the service may have received. Absent when
   * there is none.
   */
  firstAttemptAt?: Date;
  /** Set when the entry is `issued`. */
  cardId?: string;
  /**
   * The address of the card's page, for its links. Absent when it is not known: `getCard` returns
   * it.
   */
  publicUrl?: string;
  /**
   * Set when the entry is `issued` or `rejected`: whether `onIssued` or `onRejected` has succeeded.
   * True when there is no such callback.
   */
  isDelivered?: boolean;
  /** Why the last attempt did not issue the card. Erased with the form, or after its callback. */
  error?: OutboxEntryError;
  addedAt: Date;
}

/**
 * `userMessage` and `fields` can quote what the user typed: show them to the user, and do not log
 * them.
 */
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
  /** How long ago the oldest waiting entry was added, by the clock of the database. */
  oldestWaitingMs?: number;
  /** When the first waiting entry becomes `unknown`, unless it is sent successfully before. */
  nextExpiryAt?: Date;
  /**
   * Templates whose entries wait because the service failed for three of them in a row: one entry
   * of each is tried at a time. `reason` is the `code` of the last failure, such as `server`,
   * `network`, `unauthorized` or `not-found`.
   */
  paused: { template: string; since: Date; reason: string }[];
}

/** The user and template of an entry. */
export interface EntryRef {
  userId: string;
  template: string;
}

/** What is stored of a card. */
export interface StoredCard {
  cardId: string;
  publicUrl?: string;
}

/** What is stored of an error. */
export interface StoredError extends OutboxEntryError {
  /** After a conflict: when the first attempt began of those in a row that ended as conflicts. */
  firstConflictAtMs?: number;
}

/** Entries of the outbox: what is added, what is read, and what the whole outbox has. */
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
  /** Your own user's id, saved in the same transaction. `42`, `"42"` and `42n` are the same user. */
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
  cardId?: never;
}

/** A user who has a card already. Add them so that no other card is issued. */
export interface KnownCard {
  userId: UserId;
  template: string | Template<never>;
  cardId: string;
  request?: never;
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
  /** How many requests were begun, with all keys of this entry. */
  attempts: number;
  /** Set while the entry is `waiting`. A time in the past means as soon as a worker is free. A pause can delay it. */
  nextAttemptAt?: Date;
  /** When the first request with this key was sent that the service may have received. Absent when there is none. */
  firstAttemptAt?: Date;
  /** Set when the entry is `issued`. */
  cardId?: string;
  /** The address of the card's page, for its links. Absent when the card was not issued by the outbox: `getCard` returns it. */
  publicUrl?: string;
  /** Set when the entry is `issued` or `rejected`: whether `onIssued` or `onRejected` has succeeded. True when there is no such callback. */
  isDelivered?: boolean;
  /** Why the last attempt did not issue the card. */
  error?: OutboxEntryError;
  addedAt: Date;
}

/** `userMessage` and `fields` can quote what the user typed: show them to the user, and do not log them. */
export interface OutboxEntryError {
  /** The `code` of the `IssuingError`. */
  code: string;
  /** Text for logs, without personal data. */
  message: string;
  /** Safe to show to the user: the `detail` of a 422, and a general sentence otherwise. */
  userMessage: string;
  /** The rejected members of the request. Empty when none are known. */
  fields: readonly RejectedField[];
}

/**
 * Why nothing, or only one request at a time, is sent.
 * - `outage`: the service does not respond, or responds with 5xx. One entry is tried, at intervals that grow to 15 minutes.
 * - `rate-limited`: the service asked to wait. At most 15 minutes pass before one entry is tried.
 * - `template-not-found`: a 404. Only entries of this template wait.
 * - `unauthorized`: 401, 403 or no API key. Only this process waits.
 * - `clock`: this machine's clock and the service's differ by more than an hour. Only this process waits.
 * - `restored`: the file or database is a copy, or was restored from a backup. Everything waits for `resume`.
 */
export type PauseReason =
  | "outage"
  | "rate-limited"
  | "template-not-found"
  | "unauthorized"
  | "clock"
  | "restored";

/** A pause of one scope: all entries, those of a template, or this process. */
export interface Pause {
  reason: PauseReason;
  /** Set with the reason `template-not-found`. */
  template?: string;
  since: Date;
  /** When one entry is tried. */
  until?: Date;
  /** How long the service asked to wait, which can be longer than the pause. */
  retryAfterMs?: number;
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
  paused: Pause[];
}

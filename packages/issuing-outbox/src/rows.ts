/** Rows of the tables as values, and as the entries that users see. */
import { formatErrorLink } from "@loyalty-cards/internal/format";
import { generalUserMessage } from "@loyalty-cards/internal/issuing-steps";
import type { OutboxEntry, OutboxEntryError, OutboxState } from "./entry.ts";
import { type Row, toNumber, toOptionalNumber, toOptionalText } from "./statement.ts";

/** An entry with its request, as it is stored. */
export interface EntryRow {
  id: number;
  userId: string;
  template: string;
  state: OutboxState;
  work: number | undefined;
  dueAtMs: number;
  lease: string | undefined;
  /** Another entry of the same contact is being sent. */
  isBlocked: boolean;
  idempotencyKey: string;
  keySuffix: string;
  firstAttemptAtMs: number | undefined;
  lastAttemptAtMs: number | undefined;
  attempts: number;
  cardId: string | undefined;
  publicUrl: string | undefined;
  isDelivered: boolean | undefined;
  /** How many times the callback was called. */
  deliveries: number;
  errorCode: string | undefined;
  addedAtMs: number;
  /** Undefined when the request was erased. */
  body: string | undefined;
  nextBody: string | undefined;
  /** Keyed hashes of phone and email. */
  contacts: string[];
  message: string | undefined;
  userMessage: string | undefined;
  fields: OutboxEntryError["fields"];
}

/** The beginning of each statement whose rows {@link readEntryRow} reads: `e` is the entry, `r` its request. */
export const selectEntries = `SELECT e.id, e.user_id, e.template, e.state, e.work, e.due_at, e.lease, e.blocked_by, e.idempotency_key, e.key_suffix,
  e.first_attempt_at, e.last_attempt_at, e.attempts, e.card_id, e.public_url, e.is_delivered, e.deliveries, e.error_code, e.added_at,
  r.body, r.next_body, r.phone, r.email, r.message, r.user_message, r.fields
  FROM issuing_outbox_entries e LEFT JOIN issuing_outbox_requests r ON r.id = e.id`;

export function readEntryRow(row: Row): EntryRow {
  const fields = toOptionalText(row["fields"]);
  const isDelivered = toOptionalNumber(row["is_delivered"]);
  return {
    id: toNumber(row["id"]),
    userId: String(row["user_id"]),
    template: String(row["template"]),
    state: row["state"] as OutboxState,
    work: toOptionalNumber(row["work"]),
    dueAtMs: toNumber(row["due_at"]),
    lease: toOptionalText(row["lease"]),
    isBlocked: row["blocked_by"] !== null,
    idempotencyKey: String(row["idempotency_key"]),
    keySuffix: String(row["key_suffix"]),
    firstAttemptAtMs: toOptionalNumber(row["first_attempt_at"]),
    lastAttemptAtMs: toOptionalNumber(row["last_attempt_at"]),
    attempts: toNumber(row["attempts"]),
    cardId: toOptionalText(row["card_id"]),
    publicUrl: toOptionalText(row["public_url"]),
    isDelivered: isDelivered === undefined ? undefined : isDelivered === 1,
    deliveries: toNumber(row["deliveries"]),
    errorCode: toOptionalText(row["error_code"]),
    addedAtMs: toNumber(row["added_at"]),
    body: toOptionalText(row["body"]),
    nextBody: toOptionalText(row["next_body"]),
    contacts: [row["phone"], row["email"]].map(toOptionalText).filter((hash) => hash !== undefined),
    message: toOptionalText(row["message"]),
    userMessage: toOptionalText(row["user_message"]),
    fields: fields === undefined ? [] : JSON.parse(fields),
  };
}

const formatFailure = (code: string) =>
  `The last request ended with ${code}.${code === "aborted" ? "" : formatErrorLink(code)}`;

export function toEntry(row: EntryRow): OutboxEntry {
  const { userId, template, state, idempotencyKey, attempts, firstAttemptAtMs, cardId, publicUrl } = row;
  const { isDelivered, errorCode: code, message, userMessage = generalUserMessage, fields } = row;
  return {
    userId,
    template,
    state,
    idempotencyKey,
    attempts,
    ...(state === "waiting" && { nextAttemptAt: new Date(row.dueAtMs) }),
    ...(firstAttemptAtMs !== undefined && { firstAttemptAt: new Date(firstAttemptAtMs) }),
    ...(cardId !== undefined && { cardId }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(isDelivered !== undefined && { isDelivered }),
    ...(code !== undefined && {
      error: { code, message: message ?? formatFailure(code), userMessage, fields },
    }),
    addedAt: new Date(row.addedAtMs),
  };
}

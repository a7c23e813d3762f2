/** Records how an attempt ended, and calls the user's callback in the same transaction. */
import { work } from "./add.ts";
import { applyCorrection, type CorrectionContext, replaceRequest } from "./correction.ts";
import type { OutboxEntry, OutboxEntryError } from "./entry.ts";
import { type LeasedEntry, unlockContacts } from "./lease.ts";
import { type EntryRow, readEntryRow, selectEntries, toEntry } from "./rows.ts";
import { callBack, formatList, formatRows, getNow, type Operation, query, toNumber } from "./statement.ts";
import { isStillRunning, maxRunningMs, type Verdict } from "./verdict.ts";

/** What recording needs to know of its outbox. */
export interface Recorder extends CorrectionContext {
  /** Undefined when the option is not set: then nothing is delivered. */
  onIssued: Callback | undefined;
  onRejected: Callback | undefined;
  random: () => number;
}

type Callback = (entry: OutboxEntry, transaction: never) => unknown;

const backoff = { initialMs: 1_000, maxMs: 15 * 60_000 };

/** Returns between three quarters and all of the backoff, so that entries that failed together are not retried together. */
export function getBackoffMs(failures: number, random: () => number): number {
  const { initialMs, maxMs } = backoff;
  return Math.round(Math.min(maxMs, initialMs * 2 ** Math.min(failures - 1, 20)) * (0.75 + random() / 4));
}

/** Reads the entry with this id, and locks it until the end of the transaction. */
export function* selectEntry(id: number): Operation<EntryRow | undefined> {
  const [row] = yield* query(
    `${selectEntries}
     WHERE e.id = $1::text::bigint FOR UPDATE OF e`,
    id,
  );
  return row === undefined ? undefined : readEntryRow(row);
}

export type IssuedResult = "issued" | "issued-before" | "another-card" | "forgotten";

/** A card, and its entry as it was when it was leased, or when a person resolved it. */
export interface IssuedCard {
  entry: EntryRow;
  cardId: string;
  publicUrl?: string;
}

export interface RecordedCards {
  /** A result for each card. */
  results: IssuedResult[];
  /** When the callbacks are due; 0 when they run in the transaction, and when there are none. */
  callbackInMs: number;
}

/**
 * Records cards, even those of entries whose lease was lost meanwhile.
 * @param isDelivering whether the callbacks run in this transaction. If not, they are due later.
 */
export function* recordCards(
  recorder: Recorder,
  cards: readonly IssuedCard[],
  isDelivering: boolean,
): Operation<RecordedCards> {
  const { onIssued } = recorder;
  const nowMs = yield* getNow();
  const isDelivered = onIssued === undefined || isDelivering;
  const values = [Number(isDelivered), isDelivered ? null : work.callback];
  const callbackInMs = isDelivered ? 0 : getBackoffMs(1, recorder.random);
  const update = (rows: readonly IssuedCard[], condition: string) =>
    query(
      `WITH issued (id, lease, card_id, public_url) AS (VALUES ${formatRows(issuedTypes, rows.length, 4)})
       UPDATE issuing_outbox_entries SET state = 'issued', card_id = issued.card_id, public_url = issued.public_url,
         is_delivered = $1::text::integer, work = $2::text::integer, due_at = $3::text::bigint, deliveries = 1, lease = NULL,
         blocked_by = NULL, error_code = NULL, ended_at = $4::text::bigint
       FROM issued WHERE ${table}.id = issued.id AND ${table}.card_id IS NULL ${condition} RETURNING ${table}.id, ${table}.card_id`,
      ...[...values, nowMs + callbackInMs, nowMs],
      ...rows.flatMap(({ entry, cardId, publicUrl = null }) => [
        entry.id,
        entry.lease ?? "",
        cardId,
        publicUrl,
      ]),
    );
  const updated = yield* update(cards, `AND ${table}.lease = issued.lease`);
  const own = new Map(updated.map((row) => [toNumber(row["id"]), row["card_id"]]));
  const results: IssuedResult[] = [];
  for (const card of cards) {
    const { id, userId, template } = card.entry;
    if (own.get(id) === card.cardId) {
      own.delete(id); // a batch can contain two attempts at one entry
      results.push("issued");
      continue;
    }
    const row = yield* selectEntry(id);
    const isKnown = row?.userId === userId && row.template === template; // SQLite reuses the ids of deleted entries
    if (!isKnown) results.push("forgotten");
    else if (row.cardId !== undefined)
      results.push(row.cardId === card.cardId ? "issued-before" : "another-card");
    else {
      yield* update([card], "");
      results.push("issued");
    }
  }
  yield* unlockContacts(
    cards.map(({ entry }) => entry),
    nowMs,
  );
  const issued = cards.filter((_, index) => results[index] === "issued");
  if (issued.length > 0)
    yield* query(
      `DELETE FROM issuing_outbox_requests WHERE id IN (${formatList("bigint", issued.length, 1)})`,
      ...issued.map(({ entry }) => entry.id),
    );
  if (onIssued === undefined || !isDelivering) return { results, callbackInMs };
  for (const { entry, cardId, publicUrl } of issued) {
    const delivered = { ...entry, state: "issued", isDelivered: true, errorCode: undefined } as const;
    const issuedEntry = toEntry({ ...delivered, cardId, publicUrl });
    yield* callBack((transaction) => onIssued(issuedEntry, transaction));
  }
  return { results, callbackInMs };
}

const table = "issuing_outbox_entries";
const issuedTypes = ["bigint", "text", "text", "text"];

interface RecordedFailure {
  result: "recorded" | "corrected" | "lease-lost";
  /** When the request is sent again. */
  retryInMs?: number;
  /** When `onRejected` is due; 0 when it runs in the transaction, and when there is none. */
  callbackInMs?: number;
}

/** Records that an attempt did not issue the card. A correction that waited for the response is applied. */
export function* recordFailure(
  recorder: Recorder,
  leased: LeasedEntry,
  verdict: Exclude<Verdict, { type: "issued" }>,
  isDelivering: boolean,
): Operation<RecordedFailure> {
  const row = yield* selectEntry(leased.id);
  const nowMs = yield* getNow();
  yield* unlockContacts([leased], nowMs);
  if (row === undefined || row.lease !== leased.lease) return { result: "lease-lost" };
  if (verdict.type === "unknown") {
    yield* endEntry(row.id, "unknown", verdict.code, nowMs);
    return { result: "recorded" };
  }
  if (verdict.type === "rejected") {
    if (row.nextBody === undefined) {
      const rejected = { ...row, ...timesBefore(leased) };
      const callbackInMs = yield* recordRejection(recorder, rejected, verdict.error, isDelivering, nowMs);
      return { result: "recorded", callbackInMs };
    }
    if (!isStillRunning(leased, nowMs)) {
      yield* applyCorrection(recorder, row, verdict.code === "validation", nowMs);
      return { result: "corrected" };
    }
    // The older attempt may still issue the card, so the same request is sent again when that attempt must have ended.
    const dueAtMs = (leased.lastAttemptAtMs ?? nowMs) + maxRunningMs;
    yield* waitUntil(row.id, timesBefore(leased), dueAtMs, verdict.code);
    return { result: "recorded", retryInMs: dueAtMs - nowMs };
  }
  const times = verdict.isReceived
    ? { firstAttemptAtMs: leased.firstAttemptAtMs ?? leased.leasedAtMs, lastAttemptAtMs: leased.leasedAtMs }
    : timesBefore(leased);
  const isNeverReceived = times.firstAttemptAtMs === undefined;
  if (isNeverReceived && row.nextBody !== undefined) {
    yield* replaceRequest(recorder, row, row.nextBody);
  }
  const retryInMs = verdict.pause === "unauthorized" ? 0 : getBackoffMs(row.attempts, recorder.random);
  yield* waitUntil(row.id, times, nowMs + retryInMs, verdict.code);
  return { result: "recorded", retryInMs };
}

type Times = Pick<EntryRow, "firstAttemptAtMs" | "lastAttemptAtMs">;

/** The times of an entry as they were before an attempt that the service did not process. */
const timesBefore = ({ firstAttemptAtMs, lastAttemptAtMs }: LeasedEntry): Times => ({
  firstAttemptAtMs,
  lastAttemptAtMs,
});

function* waitUntil(
  id: number,
  { firstAttemptAtMs, lastAttemptAtMs }: Times,
  dueAtMs: number,
  code: string,
): Operation<void> {
  yield* query(
    `UPDATE issuing_outbox_entries SET lease = NULL, work = $1::text::integer, due_at = $2::text::bigint, error_code = $3::text,
       first_attempt_at = $4::text::bigint, last_attempt_at = $5::text::bigint WHERE id = $6::text::bigint`,
    ...[firstAttemptAtMs === undefined ? work.first : work.resend, dueAtMs, code],
    ...[firstAttemptAtMs ?? null, lastAttemptAtMs ?? null, id],
  );
}

function* endEntry(id: number, state: "rejected" | "unknown", code: string, nowMs: number): Operation<void> {
  yield* query(
    `UPDATE issuing_outbox_entries SET state = $1::text, error_code = $2::text, ended_at = $3::text::bigint, work = NULL, lease = NULL
     WHERE id = $4::text::bigint`,
    ...[state, code, nowMs, id],
  );
}

/** Removes NUL from text of the service, because no database stores it. */
const toStorable = (text: string) => text.replaceAll("\0", "");

/** @returns when `onRejected` is due, in milliseconds from now. */
function* recordRejection(
  recorder: Recorder,
  row: EntryRow,
  error: OutboxEntryError,
  isDelivering: boolean,
  nowMs: number,
): Operation<number> {
  const { onRejected } = recorder;
  const isDelivered = onRejected === undefined || isDelivering;
  const callbackInMs = isDelivered ? 0 : getBackoffMs(1, recorder.random);
  yield* endEntry(row.id, "rejected", error.code, nowMs);
  yield* query(
    `UPDATE issuing_outbox_entries SET is_delivered = $1::text::integer, work = $2::text::integer, due_at = $3::text::bigint,
       deliveries = 1, first_attempt_at = $4::text::bigint, last_attempt_at = $5::text::bigint WHERE id = $6::text::bigint`,
    ...[Number(isDelivered), isDelivered ? null : work.callback],
    nowMs + callbackInMs,
    ...[row.firstAttemptAtMs ?? null, row.lastAttemptAtMs ?? null, row.id],
  );
  yield* query(
    `UPDATE issuing_outbox_requests SET message = $1::text, user_message = $2::text, fields = $3::text
     WHERE id = $4::text::bigint`,
    ...[toStorable(error.message), toStorable(error.userMessage), JSON.stringify(error.fields), row.id],
  );
  if (onRejected === undefined || !isDelivering) return callbackInMs;
  const { code, message, userMessage, fields } = error;
  const entry = toEntry({
    ...row,
    state: "rejected",
    isDelivered: true,
    errorCode: code,
    message,
    userMessage,
    fields,
  });
  yield* callBack((transaction) => onRejected(entry, transaction));
  return callbackInMs;
}

/** Undoes the lease of entries that were not sent. A correction that was made meanwhile is applied. */
export function* returnUnsent(recorder: Recorder, entries: readonly LeasedEntry[]): Operation<void> {
  for (const { id, lease, work: due, dueAtMs, firstAttemptAtMs, lastAttemptAtMs } of entries) {
    const row = yield* selectEntry(id);
    if (row?.lease !== lease) continue;
    const isRequest = due !== work.callback;
    if (isRequest && firstAttemptAtMs === undefined && row.nextBody !== undefined)
      yield* replaceRequest(recorder, row, row.nextBody);
    yield* query(
      `UPDATE issuing_outbox_entries SET lease = NULL, work = $1::text::integer, due_at = $2::text::bigint,
         ${isRequest ? "attempts = attempts - 1" : "deliveries = deliveries - 1"},
         first_attempt_at = $3::text::bigint, last_attempt_at = $4::text::bigint WHERE id = $5::text::bigint`,
      ...[due ?? null, dueAtMs, firstAttemptAtMs ?? null, lastAttemptAtMs ?? null, id],
    );
  }
  yield* unlockContacts(entries, yield* getNow());
}

/** Calls a callback that failed before. @returns whether it was still due. */
export function* deliver({ onIssued, onRejected }: Recorder, leased: LeasedEntry): Operation<boolean> {
  const row = yield* selectEntry(leased.id);
  if (row === undefined || row.lease !== leased.lease || row.work !== work.callback) return false;
  yield* query(
    "UPDATE issuing_outbox_entries SET is_delivered = 1, work = NULL, lease = NULL WHERE id = $1::text::bigint",
    row.id,
  );
  const callback = row.state === "issued" ? onIssued : onRejected;
  if (callback === undefined) return true;
  yield* callBack((transaction) => callback(toEntry({ ...row, isDelivered: true }), transaction));
  return true;
}

/** Postpones a callback that has failed again. @returns the delay in milliseconds. */
export function* postponeDelivery(recorder: Recorder, leased: LeasedEntry): Operation<number> {
  const nowMs = yield* getNow();
  const retryInMs = getBackoffMs(leased.deliveries + 1, recorder.random);
  yield* query(
    "UPDATE issuing_outbox_entries SET lease = NULL, due_at = $1::text::bigint WHERE id = $2::text::bigint AND lease = $3::text",
    ...[nowMs + retryInMs, leased.id, leased.lease],
  );
  return retryInMs;
}

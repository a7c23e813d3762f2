/** Changes that the program or a person makes to an entry: correct, resolve, retry, forget. */
import { invalid, work } from "./add.ts";
import { applyCorrection, type IssuedResult, type Recorder, recordCards, replaceRequest } from "./record.ts";
import { type EntryRow, entryColumns, readEntryRow } from "./rows.ts";
import { formatList, getNow, type Operation, query, toNumber } from "./statement.ts";
import { maxRunningMs } from "./verdict.ts";

/** What a correction does: it is sent, it waits for a response to the old form, a card exists, or there is no entry. */
export type CorrectionResult = "accepted" | "pending" | "too-late" | "absent";

/** A user, and the template where a user has cards of several. */
export interface UserRef {
  userId: string;
  template: string | undefined;
}

/**
 * @param isLocked the transaction changes the entry: others wait until it has ended.
 * @throws {TypeError} for a user with several templates when `template` is left out.
 */
export function* findEntry({ userId, template }: UserRef, isLocked = false): Operation<EntryRow | undefined> {
  const rows = yield* query(
    `SELECT ${entryColumns} FROM issuing_outbox_entries e LEFT JOIN issuing_outbox_requests r ON r.id = e.id
     WHERE e.user_id = $1::text ${template === undefined ? "" : "AND e.template = $2::text"} LIMIT 2${isLocked ? " FOR UPDATE OF e" : ""}`,
    ...(template === undefined ? [userId] : [userId, template]),
  );
  if (rows.length > 1) throw invalid("This user has entries of several templates: pass { template } too.");
  return rows[0] === undefined ? undefined : readEntryRow(rows[0]);
}

function* requireEntry(user: UserRef): Operation<EntryRow> {
  const row = yield* findEntry(user, true);
  if (row !== undefined) return row;
  throw invalid("There is no entry of this user and template.");
}

/** Replaces the form of an entry. The form that may have been received is sent until there is a response to it. */
export function* correctEntry(
  recorder: Recorder,
  row: EntryRow | undefined,
  body: string,
): Operation<CorrectionResult> {
  if (row === undefined) return "absent";
  if (row.state === "issued") return "too-late";
  const nowMs = yield* getNow();
  if (row.body === undefined) {
    // The form was erased after the retention. A key of its own is not needed: a rejected entry has one after its 422.
    yield* query(
      "INSERT INTO issuing_outbox_requests (id, body) VALUES ($1::text::bigint, $2::text)",
      row.id,
      body,
    );
  }
  if (row.state === "waiting" && row.firstAttemptAtMs === undefined) {
    yield* replaceRequest(recorder, row, body);
    return "accepted";
  }
  yield* query(
    "UPDATE issuing_outbox_requests SET next_body = $1::text WHERE id = $2::text::bigint",
    body,
    row.id,
  );
  if (row.state !== "rejected") return "pending";
  const { lastAttemptAtMs } = row;
  if (lastAttemptAtMs !== undefined && nowMs - lastAttemptAtMs < maxRunningMs) {
    yield* query(
      `UPDATE issuing_outbox_entries SET state = 'waiting', work = ${work.resend}, due_at = $1::text::bigint, is_delivered = NULL,
         ended_at = NULL WHERE id = $2::text::bigint`,
      lastAttemptAtMs + maxRunningMs,
      row.id,
    );
    return "pending";
  }
  yield* applyCorrection(recorder, { ...row, nextBody: body }, row.errorCode === "validation", nowMs);
  return "accepted";
}

/** What a person found out about an entry that is `unknown`. */
export type Resolution = { cardId: string; noCard?: never } | { noCard: true; cardId?: never };

export function* resolveEntry(
  recorder: Recorder,
  user: UserRef,
  { cardId, noCard }: Resolution,
  isDelivering: boolean,
): Operation<{ row: EntryRow; result: IssuedResult | "waiting" }> {
  const row = yield* requireEntry(user);
  if (row.state !== "unknown")
    throw invalid(`resolve is for entries that are unknown; this one is ${row.state}.`);
  if (cardId !== undefined)
    return {
      row,
      result: (yield* recordCards(recorder, [{ entry: row, cardId }], isDelivering))[0] ?? "issued",
    };
  if (noCard !== true) throw invalid("resolve needs { cardId } or { noCard: true }.");
  if (row.body === undefined)
    throw invalid(
      "The form of this entry was erased after the retention: use correct with a new form, then resolve.",
    );
  // After a 409 that does not end, the old key would get it again.
  yield* applyCorrection(recorder, row, row.errorCode === "conflict", yield* getNow());
  return { row, result: "waiting" };
}

/** Makes an entry due now. A form that was rejected is sent again, because the template may have changed. */
export function* retryEntry(recorder: Recorder, user: UserRef): Operation<EntryRow> {
  const row = yield* requireEntry(user);
  if (row.state === "unknown")
    throw invalid(
      "A card may exist for this entry, and another request could issue a second one: find out, and use resolve.",
    );
  const nowMs = yield* getNow();
  if (row.state === "rejected") {
    if (row.body === undefined)
      throw invalid("The form of this entry was erased after the retention: use correct with a new form.");
    yield* correctEntry(recorder, row, row.body);
    return row;
  }
  yield* query(
    "UPDATE issuing_outbox_entries SET due_at = $1::text::bigint WHERE id = $2::text::bigint AND work IS NOT NULL AND lease IS NULL",
    nowMs,
    row.id,
  );
  return row;
}

/**
 * Deletes what is stored about a user. Where a request may have been received, a hash of the key stays for the retention, so that the
 * user is not added again meanwhile.
 */
export function* forgetEntry(
  user: UserRef,
  toKeyHash: (row: EntryRow) => string,
  retentionMs: number,
): Operation<boolean> {
  const row = yield* findEntry(user, true);
  if (row === undefined) return false;
  const nowMs = yield* getNow();
  yield* query("DELETE FROM issuing_outbox_requests WHERE id = $1::text::bigint", row.id);
  yield* query("DELETE FROM issuing_outbox_entries WHERE id = $1::text::bigint", row.id);
  if (row.firstAttemptAtMs !== undefined || row.cardId !== undefined) {
    yield* query(
      `INSERT INTO issuing_outbox_forgotten (key_hash, first_attempt_at, until_at) VALUES ($1::text, $2::text::bigint, $3::text::bigint)
       ON CONFLICT (key_hash) DO UPDATE SET until_at = excluded.until_at`,
      ...[toKeyHash(row), row.firstAttemptAtMs ?? nowMs, nowMs + retentionMs],
    );
  }
  return true;
}

/** At most so many rows in one transaction. */
const maxSwept = 200;

/** Erases forms and hashes whose retention is over. @returns whether there may be more. */
export function* sweep(retentionMs: number): Operation<boolean> {
  const nowMs = yield* getNow();
  let isMore = false;
  for (const state of ["rejected", "unknown"]) {
    const old = yield* query(
      `SELECT r.id FROM issuing_outbox_entries e JOIN issuing_outbox_requests r ON r.id = e.id
       WHERE e.state = $1::text AND e.ended_at < $2::text::bigint LIMIT ${maxSwept} FOR UPDATE OF e SKIP LOCKED`,
      state,
      nowMs - retentionMs,
    );
    isMore ||= old.length === maxSwept;
    if (old.length === 0) continue;
    yield* query(
      `DELETE FROM issuing_outbox_requests WHERE id IN (${formatList("bigint", old.length, 1)})`,
      ...old.map(({ id }) => toNumber(id)),
    );
  }
  yield* query("DELETE FROM issuing_outbox_forgotten WHERE until_at < $1::text::bigint", nowMs);
  yield* query("DELETE FROM issuing_outbox_contact_locks WHERE until_at < $1::text::bigint", nowMs);
  return isMore;
}

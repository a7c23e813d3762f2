/** Changes that the program or a person makes to an entry: resolve, retry, forget. */
import { invalid, requireCardId } from "./add.ts";
import { applyCorrection, correctEntry } from "./correction.ts";
import { type IssuedResult, type Recorder, recordCards } from "./record.ts";
import { type EntryRow, readEntryRow, selectEntries } from "./rows.ts";
import { recordTime } from "./settings.ts";
import { formatList, getNow, type Operation, query, toNumber } from "./statement.ts";

/** A user, and the template, which can be left out when the user has entries of one template only. */
export interface UserRef {
  userId: string;
  template: string | undefined;
}

/**
 * @param isLocked locks the entry until the end of the transaction, which changes it.
 * @throws {TypeError} for a user with several templates when `template` is left out.
 */
export function* findEntry({ userId, template }: UserRef, isLocked = false): Operation<EntryRow | undefined> {
  const rows = yield* query(
    `${selectEntries}
     WHERE e.user_id = $1::text ${template === undefined ? "" : "AND e.template = $2::text"} LIMIT 2${isLocked ? " FOR UPDATE OF e" : ""}`,
    ...(template === undefined ? [userId] : [userId, template]),
  );
  if (rows.length > 1) throw invalid("This user has entries of several templates: pass { template } too.");
  return rows[0] === undefined ? undefined : readEntryRow(rows[0]);
}

export function* requireEntry(user: UserRef, isLocked = true): Operation<EntryRow> {
  const row = yield* findEntry(user, isLocked);
  if (row !== undefined) return row;
  throw invalid("There is no entry of this user and template.");
}

/** What a person found out about an entry that is `unknown`. */
export type Resolution = { cardId: string; noCard?: never } | { noCard: true; cardId?: never };

/** @throws {TypeError} for a value that has not exactly one of a valid `cardId` and `noCard: true`. */
export function requireResolution(resolution: Resolution): void {
  const { cardId, noCard } = resolution ?? {};
  if ((cardId === undefined) !== (noCard === true))
    throw invalid("resolve needs { cardId } or { noCard: true }, and not both.");
  if (cardId !== undefined) requireCardId(cardId);
}

export function* resolveEntry(
  recorder: Recorder,
  user: UserRef,
  { cardId }: Resolution,
  isDelivering: boolean,
): Operation<{ row: EntryRow; result: IssuedResult | "waiting"; callbackInMs: number }> {
  const row = yield* requireEntry(user);
  if (row.state !== "unknown")
    throw invalid(`resolve is for entries that are unknown; this one is ${row.state}.`);
  if (cardId !== undefined) {
    const card = { entry: row, cardId };
    const { results, callbackInMs } = yield* recordCards(recorder, [card], isDelivering);
    return { row, result: results[0] ?? "issued", callbackInMs };
  }
  if (row.body === undefined)
    throw invalid(
      "The form of this entry was erased after the retention: use correct with a new form, then resolve.",
    );
  // After a 409 that does not end, a request with the old key would get another 409.
  yield* applyCorrection(recorder, row, row.errorCode === "conflict", yield* getNow());
  return { row, result: "waiting", callbackInMs: 0 };
}

/** Makes an entry due now. A form that was rejected is sent again, because the template may have changed. */
export function* retryEntry(recorder: Recorder, user: UserRef): Operation<EntryRow> {
  const row = yield* requireEntry(user);
  if (row.state === "unknown")
    throw invalid(
      "A card may exist for this entry, so another request could issue a second one: look for the card in the console, and use resolve.",
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
 * Deletes what is stored about a user. If the service may have received a request, a hash of the key stays for the retention, so that the
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

/** The maximum number of rows in one transaction. */
const maxSwept = 200;

/** Erases forms and hashes whose retention is over, and records the time. @returns whether there may be more. */
export function* sweep(retentionMs: number): Operation<boolean> {
  const nowMs = yield* getNow();
  yield* recordTime(nowMs);
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

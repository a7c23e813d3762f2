/** Corrections: another form for an entry, and when it is sent. */
import { work } from "./add.ts";
import { hashContacts } from "./node.ts";
import type { EntryRow } from "./rows.ts";
import type { Settings } from "./settings.ts";
import { getNow, type Operation, query } from "./statement.ts";
import { maxRunningMs } from "./verdict.ts";

/** What corrections need to know of their outbox. */
export interface CorrectionContext {
  settings: Settings;
  /** Derives the idempotency key of a correction. */
  deriveKey(entry: EntryRow, keySuffix: string): string;
}

/** `accepted`: the new form is sent. `pending`: it waits for the response to the old form. `too-late`: a card exists. `absent`: there is no entry. */
export type CorrectionResult = "accepted" | "pending" | "too-late" | "absent";

/** Replaces the form of an entry. If the service may have received the old form, that one is retried until there is a response to it. */
export function* correctEntry(
  context: CorrectionContext,
  row: EntryRow | undefined,
  body: string,
): Operation<CorrectionResult> {
  if (row === undefined) return "absent";
  if (row.state === "issued") return "too-late";
  const nowMs = yield* getNow();
  if (row.body === undefined) {
    // The form was erased after the retention. The key stays: `applyCorrection` derives a new one where a 422 requires it.
    yield* query(
      "INSERT INTO issuing_outbox_requests (id, body) VALUES ($1::text::bigint, $2::text)",
      row.id,
      body,
    );
  }
  if (row.state === "waiting" && row.firstAttemptAtMs === undefined) {
    yield* replaceRequest(context, row, body);
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
  yield* applyCorrection(context, { ...row, nextBody: body }, row.errorCode === "validation", nowMs);
  return "accepted";
}

/** Makes the corrected form due. @param hasNewKey true after a 422, which the service may repeat for the old key. */
export function* applyCorrection(
  context: CorrectionContext,
  row: EntryRow,
  hasNewKey: boolean,
  nowMs: number,
): Operation<void> {
  if (row.nextBody !== undefined) yield* replaceRequest(context, row, row.nextBody);
  const keySuffix = hasNewKey ? getNextSuffix(row.keySuffix) : row.keySuffix;
  const key = hasNewKey ? context.deriveKey(row, keySuffix) : row.idempotencyKey;
  yield* query(
    `UPDATE issuing_outbox_entries SET state = 'waiting', work = ${work.first}, due_at = $1::text::bigint, lease = NULL,
       idempotency_key = $2::text, key_suffix = $3::text, first_attempt_at = NULL, last_attempt_at = NULL, error_code = NULL,
       is_delivered = NULL, ended_at = NULL WHERE id = $4::text::bigint`,
    ...[nowMs, key, keySuffix, row.id],
  );
}

/** Returns the next suffix. It is the same in a restored copy of the database, so the same correction has the same key there. */
function getNextSuffix(suffix: string): string {
  const [, base = suffix, number = "1"] = /^(.*)~(\d+)$/s.exec(suffix) ?? [];
  return `${base}~${Number(number) + 1}`;
}

export function* replaceRequest(
  { settings }: CorrectionContext,
  { id }: EntryRow,
  body: string,
): Operation<void> {
  const { phone, email } = hashContacts(settings.contactKey, body);
  yield* query(
    `UPDATE issuing_outbox_requests SET body = $1::text, next_body = NULL, phone = $2::text, email = $3::text, message = NULL,
       user_message = NULL, fields = NULL WHERE id = $4::text::bigint`,
    ...[body, phone, email, id],
  );
}

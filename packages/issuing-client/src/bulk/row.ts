/** One row of a bulk run and its result: validates the row, and finds its idempotency key, its hashes and whom it belongs to. */
import { normalizeContacts } from "@loyalty-cards/internal/contacts";
import type { Card, Customer, IssueCardRequest } from "../cards.ts";
import { configurationError, IssuingError } from "../errors.ts";
import { digest, getRemainingRetentionMs, resolveIdempotencyKey, type UserId } from "../idempotency.ts";
import { toDraft } from "../issue-card.ts";
import { type FieldValues, readValidated, type Template, validate } from "../template.ts";
import type { CheckpointRecord } from "./checkpoint.ts";
import { hashText } from "./people.ts";

/** A row of the source. It may have more members; its results have the same object. */
export interface BulkRow<Fields = FieldValues> {
  request: IssueCardRequest<Fields>;
  /** Your own user's id, from which the Idempotency-Key is derived as in `issueCard`. This or `idempotencyKey` is needed. */
  userId?: UserId;
  /** Your own key, instead of `userId`. */
  idempotencyKey?: string;
  /** Part of the derived key, as in `issueCard`. */
  keySuffix?: string;
}

/** The result of one row. Results are in the order in which rows end, not in the order of the source. */
export type BulkResult<Row = BulkRow> = {
  /** The row, the same object as in the source. */
  row: Row;
  /** Its position in the source, from 0. */
  index: number;
  /** `""` for a row without a valid key. */
  idempotencyKey: string;
  /** The index of the first row with the same phone or e-mail: the same person twice. */
  samePersonAs?: number;
} & (
  | { status: "issued"; card: Card }
  /** The checkpoint has the card; nothing was sent. */
  | { status: "replayed"; cardId: string }
  /** No card was issued. The same run sends the row again when it is resumed. */
  | { status: "rejected"; error: IssuingError }
  /** A card may exist (`error.cardId` when it does). The same run sends the row again when it is resumed within 24 hours. */
  | { status: "unknown"; error: IssuingError }
);

/** How a row ended. */
export type Ending =
  | { status: "issued"; card: Card }
  | { status: "replayed"; cardId: string }
  | { status: "rejected" | "unknown"; error: IssuingError };

/** A row with any fields. */
export type AnyRow = Omit<BulkRow, "request"> & { request: { customer: Customer } };

/** A row that can be sent. */
export interface PreparedRow<Row> {
  readonly row: Row;
  /** Position in the source, from 0. */
  readonly index: number;
  readonly idempotencyKey: string;
  readonly keyHash: string;
  readonly rowHash: string;
  readonly request: IssueCardRequest<FieldValues>;
  /** Hashes of the phone and the e-mail. */
  readonly contacts: readonly number[];
  /** Hashes of the contacts and of the key: rows that share one run one after another. */
  readonly lanes: readonly number[];
  samePersonAs?: number;
  /** When the key was first used; 0 until the checkpoint was searched. */
  firstAttemptAt: number;
  /** An earlier attempt may have issued the card. */
  mayExist: boolean;
  failures: number;
  /** Failures while the service was healthy. */
  countedFailures: number;
  /** On the monotonic clock. */
  notBeforeMs: number;
}

/** The text in the checkpoint that a key, a request or a setting can be recognized by. */
export const toHash = async (text: string): Promise<string> => (await digest(text)).slice(0, 22);

/**
 * Returns the key and the rest of the row in two steps, so that the error of an invalid row still has its key.
 * @throws {IssuingError} `configuration`.
 */
export async function resolveKey(row: AnyRow, templateId: string, namespace: string): Promise<string> {
  if (typeof row !== "object" || row === null) {
    throw configurationError("A row of the source must be an object: { request, userId }.");
  }
  if (!("userId" in row) && !("idempotencyKey" in row)) {
    throw configurationError(
      "A row has neither userId nor idempotencyKey: with a random key a run that is resumed would issue a second card.",
    );
  }
  const options: { userId?: UserId; idempotencyKey?: string; keySuffix?: string } = {};
  for (const name of ["userId", "idempotencyKey", "keySuffix"] as const) {
    if (name in row) Object.assign(options, { [name]: row[name] });
  }
  return resolveIdempotencyKey(templateId, options, namespace);
}

/** @throws {IssuingError} `configuration` or `validation` for a row that cannot be sent. */
export async function prepareRow<Row extends AnyRow>(
  row: Row,
  index: number,
  idempotencyKey: string,
  template: Template<unknown>,
): Promise<PreparedRow<Row>> {
  const { id, schema } = template;
  const draft = toDraft(schema === undefined ? id : template, row.request);
  let request = row.request as IssueCardRequest<FieldValues>;
  let { body } = draft;
  if (schema !== undefined) {
    // Here and not in issueCard: its `configuration` errors are then never those of a row.
    const result = await validate(schema, JSON.parse(draft.fieldValues));
    const fieldValues = readValidated(result, draft.fieldValues) ?? {};
    request = { ...JSON.parse(body), fieldValues };
    body = JSON.stringify(request);
  }
  const keyHash = await toHash(idempotencyKey);
  const contacts = normalizeContacts(request.customer).map(hashText);
  return {
    row,
    index,
    idempotencyKey,
    keyHash,
    rowHash: await toHash(`${idempotencyKey}\n${body}`),
    request,
    contacts,
    lanes: [...contacts, hashText(keyHash)],
    firstAttemptAt: 0,
    mayExist: false,
    failures: 0,
    countedFailures: 0,
    notBeforeMs: 0,
  };
}

/**
 * Compares a row with the record of an earlier attempt whose outcome is not `rejected`.
 * @returns how the row ends without a request; undefined when it is sent again with the same key.
 */
export function resumeRow(
  row: PreparedRow<unknown>,
  known: CheckpointRecord,
  nowMs: number,
): Ending | undefined {
  const { idempotencyKey } = row;
  if (known.rowHash !== row.rowHash) return { status: "rejected", error: changedRowError(idempotencyKey) };
  if (known.outcome === "issued") return { status: "replayed", cardId: known.cardId ?? "" };
  row.firstAttemptAt = Math.min(known.firstAttemptAt, nowMs); // the clock may have been corrected
  row.mayExist = true;
  try {
    getRemainingRetentionMs(row.firstAttemptAt, nowMs, idempotencyKey);
    return undefined;
  } catch (error) {
    return { status: "unknown", error: error as IssuingError };
  }
}

function changedRowError(idempotencyKey: string): IssuingError {
  return new IssuingError(
    "The row has changed since it was sent with this key, and its card was or may have been issued. Restore the row, or issue another card with a keySuffix.",
    { code: "idempotency-mismatch", outcome: "not-sent", idempotencyKey },
  );
}

/** Adds an entry and its request in the transaction that saves the user. */
import type { IssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import type { KnownCard, OutboxState, OwedCard } from "./entry.ts";
import { hashContacts, hashText } from "./node.ts";
import type { Settings } from "./settings.ts";
import { formatList, formatRows, getNow, type Operation, query, toNumber, type Value } from "./statement.ts";

/** The kinds of work, by priority. The table in `schema.ts` describes them. */
export const work = { callback: 0, resend: 1, first: 2, bulk: 3 } as const;

/** The rest of the 255 that a column holds are for the numbers of corrections. */
const maxSuffixLength = 240;

/** A validated entry. */
export interface NewEntry {
  userId: string;
  template: string;
  idempotencyKey: string;
  keySuffix: string;
  /** The hash of the key without a suffix, by which a forgotten user is recognized. */
  keyHash: string;
  /** Undefined when the card exists. */
  body?: string;
  firstAttemptAtMs?: number;
  cardId?: string;
}

/** @throws {TypeError} naming what is wrong. */
export function parseNewEntry(steps: IssuingSteps<unknown>, input: OwedCard<unknown> | KnownCard): NewEntry {
  if (typeof input !== "object" || input === null)
    throw invalid("add needs an entry: { userId, template, request }.");
  const { userId, template, request, cardId } = input;
  if ((request === undefined) === (cardId === undefined))
    throw invalid("An entry needs request, or cardId for a user who has a card already, and not both.");
  if (request === undefined) {
    requireCardId(cardId);
    return { ...deriveKey(steps, readTemplateId(template), userId), cardId };
  }
  const { keySuffix, firstAttemptAt } = input as OwedCard;
  requireStorable("keySuffix", keySuffix ?? "", maxSuffixLength);
  const firstAttemptAtMs = parseFirstAttempt(firstAttemptAt, steps.clock.now());
  const { templateId, body } = steps.prepare(template, request);
  return {
    ...deriveKey(steps, templateId, userId, keySuffix),
    body,
    ...(firstAttemptAtMs !== undefined && { firstAttemptAtMs }),
  };
}

export function requireCardId(cardId: unknown): asserts cardId is string {
  if (typeof cardId !== "string" || cardId.trim() === "") throw invalid("cardId must be an id.");
  requireStorable("cardId", cardId);
}

export function deriveKey(
  steps: IssuingSteps<unknown>,
  templateId: string,
  userId: OwedCard["userId"],
  keySuffix = "",
) {
  const derived = steps.deriveKey({ templateId, userId });
  const withSuffix = keySuffix === "" ? derived : steps.deriveKey({ templateId, userId, keySuffix });
  requireStorable("userId", derived.userId);
  requireStorable("template", templateId);
  const keyHash = hashText(derived.idempotencyKey);
  return {
    template: templateId,
    userId: derived.userId,
    idempotencyKey: withSuffix.idempotencyKey,
    keySuffix,
    keyHash,
  };
}

export function readTemplateId(template: unknown): string {
  const id = typeof template === "string" ? template : (template as { id?: unknown } | null | undefined)?.id;
  if (typeof id !== "string" || id.trim() === "")
    throw invalid("template must be the id of a template, or a template of defineTemplate.");
  return id;
}

/** Whether both databases can store the text, and find it by an index. */
export const isStorable = (text: string, maxLength: number): boolean =>
  text.length <= maxLength && text.isWellFormed() && !text.includes("\0");

function requireStorable(name: string, id: string, maxLength = 255): void {
  if (!isStorable(id, maxLength))
    throw invalid(`${name} must be well-formed text of at most ${maxLength} characters, without NUL.`);
}

/** Parses `firstAttemptAt` by the rules of `issueCard`. */
function parseFirstAttempt(value: Date | number | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const atMs = Number(value);
  if (value !== null && Number.isFinite(atMs) && atMs >= Date.UTC(2001, 0, 1) && atMs <= nowMs)
    return Math.round(atMs);
  throw invalid("firstAttemptAt must be a Date or a time in milliseconds after 2000, and not in the future.");
}

const entryTypes = [
  "text", // user_id
  "text", // template
  "text", // state
  "integer", // work
  "bigint", // due_at
  "text", // idempotency_key
  "text", // key_suffix
  "bigint", // first_attempt_at
  "bigint", // last_attempt_at
  "text", // card_id
  "integer", // is_delivered
  "bigint", // added_at
];

/** Adds the entries of users who have none. @returns for each entry `added`, or the state of the entry that its user has. */
function* addEntries(
  settings: Settings,
  entries: readonly NewEntry[],
  firstWork: number,
): Operation<("added" | OutboxState)[]> {
  const nowMs = yield* getNow();
  const templates = [...new Set(entries.map(({ template }) => template))];
  yield* query(
    `INSERT INTO issuing_outbox_scopes (template) VALUES ${formatRows(["text"], templates.length)} ON CONFLICT DO NOTHING`,
    ...templates,
  );
  const inserted = yield* query(
    `INSERT INTO issuing_outbox_entries (user_id, template, state, work, due_at, idempotency_key, key_suffix, first_attempt_at,
       last_attempt_at, card_id, is_delivered, added_at)
     VALUES ${formatRows(entryTypes, entries.length)} ON CONFLICT (user_id, template) DO NOTHING RETURNING id, user_id, template`,
    ...entries.flatMap((entry): Value[] => {
      const { userId, template, idempotencyKey, keySuffix, firstAttemptAtMs = null, cardId } = entry;
      const isIssued = cardId !== undefined;
      const dueWork = firstAttemptAtMs === null ? firstWork : work.resend;
      return [
        userId,
        template,
        isIssued ? "issued" : "waiting",
        isIssued ? null : dueWork,
        nowMs,
        idempotencyKey,
        keySuffix,
        firstAttemptAtMs,
        firstAttemptAtMs,
        cardId ?? null,
        isIssued ? 1 : null,
        nowMs,
      ];
    }),
  );
  const ids = new Map(inserted.map((row) => [toPlace(row), toNumber(row["id"])]));
  const results: ("added" | OutboxState)[] = [];
  const requests: Value[] = [];
  for (const entry of entries) {
    const place = toPlace({ user_id: entry.userId, template: entry.template });
    const id = ids.get(place);
    ids.delete(place); // a list can contain a user twice
    if (id !== undefined && entry.body !== undefined) {
      const { phone, email } = hashContacts(settings.contactKey, entry.body);
      requests.push(id, entry.body, phone, email);
    }
    results.push(id === undefined ? yield* getState(entry) : "added");
  }
  if (requests.length > 0) {
    const types = ["bigint", "text", "text", "text"];
    yield* query(
      `INSERT INTO issuing_outbox_requests (id, body, phone, email) VALUES ${formatRows(types, requests.length / types.length)}`,
      ...requests,
    );
  }
  return results;
}

const toPlace = (row: { [name: string]: Value | bigint }) =>
  JSON.stringify([row["user_id"], row["template"]]);

function* getState({ userId, template }: NewEntry): Operation<OutboxState> {
  const [row] = yield* query(
    "SELECT state FROM issuing_outbox_entries WHERE user_id = $1::text AND template = $2::text",
    userId,
    template,
  );
  return row?.["state"] as OutboxState;
}

/** Adds one entry. @returns `added`, or the state of the entry that its user has. @throws {TypeError} for a user who was forgotten. */
export function* addEntry(settings: Settings, entry: NewEntry): Operation<"added" | OutboxState> {
  const untilMs = (yield* findForgotten([entry])).get(entry.keyHash);
  if (untilMs !== undefined) {
    throw invalid(
      `The user was forgotten while a request may have been received, so a second card could be issued. Add the user again after ${new Date(untilMs).toISOString()}.`,
    );
  }
  const [result] = yield* addEntries(settings, [entry], work.first);
  return result ?? "added";
}

/** Adds a batch of entries, except those of forgotten users. @returns how many were added. */
export function* addBatch(settings: Settings, entries: readonly NewEntry[]): Operation<number> {
  const forgotten = yield* findForgotten(entries);
  const rest = entries.filter(({ keyHash }) => !forgotten.has(keyHash));
  if (rest.length === 0) return 0;
  const results = yield* addEntries(settings, rest, work.bulk);
  return results.filter((result) => result === "added").length;
}

/** Returns when forgotten users may be added again, by the hash of their key. */
function* findForgotten(entries: readonly NewEntry[]): Operation<Map<string, number>> {
  const rows = yield* query(
    `SELECT key_hash, until_at FROM issuing_outbox_forgotten WHERE key_hash IN (${formatList("text", entries.length, 1)})`,
    ...entries.map(({ keyHash }) => keyHash),
  );
  return new Map(rows.map((row) => [String(row["key_hash"]), toNumber(row["until_at"])]));
}

export const invalid = (message: string) => withSafeMessage(new TypeError(message));

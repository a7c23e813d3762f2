/**
 * Issues a card (spec 4.1): idempotency (spec 8), template, customer, card, consents, in this order
 * and all at once.
 */
import { keyRetentionMs } from "@loyalty-cards/internal/key-retention";
import type { Result } from "@loyalty-cards/internal/result";
import { isIssueCardRequest } from "@loyalty-cards/openapi/validators";
import { createCard, getCard } from "./cards.ts";
import type { Domain } from "./context.ts";
import { changeMarketingConsent, findOrCreateCustomer, readContact } from "./customers.ts";
import { createProblem, createValidationProblem, type Problem, toFieldErrors } from "./problem.ts";
import type { FieldValues, KeyRecord, StoredCard } from "./state.ts";
import { getFieldLabel, validateFieldValues } from "./templates.ts";
import { isObject } from "./validation.ts";
import {
  type RequestWarning,
  warnAboutOtherContent,
  warnAboutSecondCard,
  warnAboutUnknownFields,
} from "./warnings.ts";

interface IssueCardCommand {
  /** The id of the request in the log. */
  requestId: string;
  templateId: string;
  /** The parsed body, not validated yet. */
  body: unknown;
  idempotencyKey: string | undefined;
  issuedVia: string;
}

interface Issuance {
  result: Result<StoredCard, Problem>;
  /** Set when this is the result of an earlier request with the same key. */
  isReplay?: true;
  warnings?: RequestWarning[];
}

export function issueCard(domain: Domain, command: IssueCardCommand): Issuance {
  const { templateId, body, idempotencyKey } = command;
  if (idempotencyKey === undefined) return issueNewCard(domain, command);
  if (!/^.{1,255}$/.test(idempotencyKey))
    return reject(400, "Idempotency-Key must have 1 to 255 characters, or be absent.");
  const contentHash = hashContent(templateId, body);
  const earlier = findKeyRecord(domain, idempotencyKey);
  if (earlier !== undefined)
    return replay(domain, earlier, body, earlier.contentHash === contentHash);

  const issued = issueNewCard(domain, command);
  const { value: card, failure } = issued.result;
  const content = { atMs: domain.nowMs(), contentHash };
  if (card !== undefined) {
    storeKeyRecord(domain, idempotencyKey, { ...content, cardId: card.id });
  } else if (domain.storeRefusals) {
    storeKeyRecord(domain, idempotencyKey, { ...content, refusal: failure });
  }
  return issued;
}

const reject = (status: number, detail: string): Issuance => ({
  result: { failure: createProblem(status, detail) },
});

function replay(
  domain: Domain,
  { cardId = "", refusal }: KeyRecord,
  body: unknown,
  isSame: boolean,
): Issuance {
  const result: Issuance["result"] =
    refusal === undefined ? { value: getCard(domain, cardId) } : { failure: refusal };
  const warnings = isSame ? [] : [warnAboutOtherContent(domain, result, readFieldValues(body))];
  return { result, isReplay: true, warnings };
}

function issueNewCard(domain: Domain, command: IssueCardCommand): Issuance {
  const { requestId, templateId, body, issuedVia } = command;
  const template = domain.state.templates.get(templateId);
  if (template === undefined || template.isArchived)
    return reject(404, "There is no template with this id.");
  if (!isIssueCardRequest(body)) {
    const errors = toFieldErrors(isIssueCardRequest, (key) => getFieldLabel(template, key));
    return { result: { failure: createValidationProblem(errors) } };
  }
  const fieldValues = trimValues(body.fieldValues ?? {});
  // A 422 has warnings too: when a required field is misspelt, it is missing.
  const warnings = warnAboutUnknownFields(template, body);
  const contact = readContact(body.customer, domain);
  const errors = [...validateFieldValues(template, fieldValues), ...(contact.failure ?? [])];
  if (contact.failure !== undefined || errors.length > 0)
    return { result: { failure: createValidationProblem(errors) }, warnings };

  const customer = findOrCreateCustomer(domain, contact.value);
  warnings.push(...warnAboutSecondCard(domain, customer, template));
  const card = createCard(domain, { template, customer, fieldValues, issuedVia });
  const { privacy, marketing } = body.customer.consents;
  customer.privacyVersion = privacy.version.trim();
  // Absence does not withdraw the consent: the member is present only if the user opted in
  // (spec 2.4).
  if (marketing !== undefined)
    changeMarketingConsent(domain, customer, { ...marketing, marketing: true }, requestId);
  return { result: { value: card }, warnings };
}

/** The field values of a body that is not validated, because a replay ignores it. */
function readFieldValues(body: unknown): FieldValues {
  const values = isObject(body) ? body["fieldValues"] : undefined;
  return trimValues(isObject(values) ? (values as FieldValues) : {});
}

/** Removes surrounding spaces, which phones and browsers add. */
function trimValues(values: FieldValues): FieldValues {
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? value.trim() : value]),
  );
}

/** @returns the record of this key, for 24 hours. */
export function findKeyRecord({ state, nowMs }: Domain, key: string): KeyRecord | undefined {
  const record = state.keyRecords.get(key);
  return record !== undefined && nowMs() - record.atMs < keyRetentionMs ? record : undefined;
}

function storeKeyRecord(
  { state, nowMs, notifyChange }: Domain,
  key: string,
  record: KeyRecord,
): void {
  state.keyRecords.delete(key); // the newest are last
  state.keyRecords.set(key, record);
  for (const [oldest, { atMs }] of state.keyRecords) {
    if (nowMs() - atMs < keyRetentionMs) break;
    state.keyRecords.delete(oldest);
  }
  notifyChange();
}

/**
 * Ignores the order of members. One in four billion pairs of different contents has equal hashes;
 * then a warning is missing.
 */
function hashContent(templateId: string, body: unknown): number {
  const text = JSON.stringify([templateId, body], (_, value) =>
    isObject(value) ? sortMembers(value) : value,
  );
  let hash = 0x811c9dc5; // FNV-1a, 32 bits
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

const sortMembers = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

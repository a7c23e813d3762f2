/** Issues a card (spec 4.1): idempotency (spec 8), template, customer, card, consents, in this order and all at once. */
import { IssueCardRequest } from "@loyalty-cards/openapi/validators";
import { createCard, getCard } from "./cards.ts";
import type { Domain } from "./context.ts";
import { changeMarketingConsent, findOrCreateCustomer, readContact } from "./customers.ts";
import { isObject, Problem, toFieldErrors } from "./problem.ts";
import type { FieldValues, StoredCard, StoredResult } from "./state.ts";
import { getFieldLabel, validateFieldValues } from "./templates.ts";
import { type RequestWarning, warnAboutOtherContent, warnAboutUnknownFields } from "./warnings.ts";

export interface IssueCardCommand {
  templateId: string;
  /** The parsed body, not validated yet. */
  body: unknown;
  idempotencyKey: string | undefined;
  issuedVia: string;
}

export interface IssueCardResult {
  result: StoredCard | Problem;
  /** The result is that of an earlier request with the same key. */
  isReplay?: true;
  warnings?: RequestWarning[];
}

export function issueCard(domain: Domain, command: IssueCardCommand): IssueCardResult {
  const { templateId, body, idempotencyKey } = command;
  if (idempotencyKey === undefined) return issueNewCard(domain, command);
  const contentHash = hashContent(templateId, body);
  const stored = findResult(domain, idempotencyKey);
  if (stored !== undefined) return repeatResult(domain, stored, body, stored.contentHash === contentHash);
  const issued = issueNewCard(domain, command);
  const { result } = issued;
  const content = { atMs: domain.nowMs(), contentHash };
  if (!(result instanceof Problem)) {
    storeResult(domain, idempotencyKey, { ...content, cardId: result.id });
  } else if (domain.storeRefusals) {
    const { status, message: detail, errors } = result;
    storeResult(domain, idempotencyKey, { ...content, refusal: { status, detail, errors } });
  }
  return issued;
}

function repeatResult(
  domain: Domain,
  { cardId = "", refusal }: StoredResult,
  body: unknown,
  isSame: boolean,
): IssueCardResult {
  const result =
    refusal === undefined
      ? getCard(domain, cardId)
      : new Problem(refusal.status, refusal.detail, refusal.errors);
  const warnings = isSame ? [] : [warnAboutOtherContent(domain, result, readFieldValues(body))];
  return { result, isReplay: true, warnings };
}

function issueNewCard(domain: Domain, { templateId, body, issuedVia }: IssueCardCommand): IssueCardResult {
  const template = domain.state.templates.get(templateId);
  if (template === undefined || template.isArchived) {
    return { result: new Problem(404, "There is no template with this id.") };
  }
  if (!IssueCardRequest(body)) {
    const errors = toFieldErrors(IssueCardRequest, (key) => getFieldLabel(template, key));
    return { result: Problem.invalid(errors) };
  }
  const { customer: given } = body;
  const fieldValues = trimValues(body.fieldValues ?? {});
  const warnings = warnAboutUnknownFields(template, body); // also of a 422: a misspelt required field is missing
  const { contact, errors: contactErrors } = readContact(given, domain);
  const errors = [...validateFieldValues(template, fieldValues), ...contactErrors];
  if (errors.length > 0) return { result: Problem.invalid(errors), warnings };

  const customer = findOrCreateCustomer(domain, contact);
  const card = createCard(domain, template, customer, fieldValues, issuedVia);
  customer.privacyVersion = given.consents.privacy.version.trim();
  const { marketing } = given.consents;
  if (marketing !== undefined) {
    // Absence does not withdraw the consent: the member is present only if the user opted in (spec 2.4).
    changeMarketingConsent(domain, customer, { ...marketing, marketing: true });
  }
  return { result: card, warnings };
}

/** The field values of a body that is not validated, because the stored response is repeated. */
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

/** How long the card or the refusal of each idempotency key is stored. */
const retentionMs = 24 * 3_600_000;

/** The result stored under this key in the last 24 hours. */
export function findResult({ state, nowMs }: Domain, key: string): StoredResult | undefined {
  const stored = state.results.get(key);
  return stored !== undefined && nowMs() - stored.atMs < retentionMs ? stored : undefined;
}

function storeResult({ state, nowMs, notifyChange }: Domain, key: string, result: StoredResult): void {
  state.results.delete(key); // the newest are last
  state.results.set(key, result);
  for (const [oldest, { atMs }] of state.results) {
    if (nowMs() - atMs < retentionMs) break;
    state.results.delete(oldest);
  }
  notifyChange();
}

/** Ignores the order of members. One in four billion pairs of different contents has equal hashes; then a warning is missing. */
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

/** Issues a card (spec 4.1): idempotency, template, customer, card, consents, in this order and all at once. */
import { IssueCardRequest } from "@loyalty-cards/openapi/validators";
import { createCard } from "./cards.ts";
import type { Domain } from "./context.ts";
import { changeMarketingConsent, findOrCreateCustomer, readContact } from "./customers.ts";
import {
  findIssuedCard,
  findRefusal,
  hashContent,
  storeIssuedCard,
  storeRefusal,
  toProblem,
} from "./idempotency.ts";
import { Problem, toFieldErrors } from "./problem.ts";
import type { FieldValues, StoredCard } from "./state.ts";
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
  const stored = findIssuedCard(domain, idempotencyKey) ?? findRefusal(domain, idempotencyKey);
  if (stored !== undefined) {
    const replay = { templateId, idempotencyKey, fieldValues: readFieldValues(body) };
    const isSame = (stored.contentHash ?? contentHash) === contentHash;
    const warnings = isSame ? [] : [warnAboutOtherContent(domain, replay, stored)];
    return { result: "balance" in stored ? stored : toProblem(stored), isReplay: true, warnings };
  }
  const issued = issueNewCard(domain, command);
  const { result } = issued;
  if (!(result instanceof Problem)) storeIssuedCard(domain, idempotencyKey, result, contentHash);
  else if (domain.storeRefusals) storeRefusal(domain, idempotencyKey, result, contentHash);
  return issued;
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
function readFieldValues(body: unknown): FieldValues | undefined {
  const values = (body as { fieldValues?: unknown } | null | undefined)?.fieldValues;
  return typeof values === "object" && values !== null ? trimValues(values as FieldValues) : undefined;
}

/** Removes surrounding spaces, which phones and browsers add. */
function trimValues(values: FieldValues): FieldValues {
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? value.trim() : value]),
  );
}

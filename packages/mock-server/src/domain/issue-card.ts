/** Issues a card (spec 4.1): idempotency, template, customer, card, consents, in this order and all at once. */
import { IssueCardRequest } from "@loyalty-cards/openapi/validators";
import { createCard, existingCard, type StoredCard } from "./cards.ts";
import { changeMarketingConsent } from "./consents.ts";
import { findOrCreateCustomer, readContact } from "./customers.ts";
import {
  cardIssuedUnder,
  hashContent,
  hashText,
  problemOf,
  refusalStoredUnder,
  remember,
  rememberRefusal,
} from "./idempotency.ts";
import { Problem } from "./problem.ts";
import { faultsOf } from "./request-faults.ts";
import type { State } from "./state.ts";
import type { Domain } from "./surroundings.ts";
import { type FieldValues, fieldFaults, labelOf } from "./templates.ts";
import { warn } from "./warnings.ts";

export interface IssueCardCommand {
  templateId: string;
  /** The parsed body, whatever it is. */
  body: unknown;
  idempotencyKey: string | undefined;
  issuedVia: string;
}

export function issueCard(domain: Domain<State>, command: IssueCardCommand): StoredCard | Problem {
  const { templateId, body, idempotencyKey } = command;
  if (idempotencyKey === undefined) return issueNewCard(domain, command);
  const contentHash = hashContent(templateId, body);
  const issued = cardIssuedUnder(domain, idempotencyKey);
  if (issued !== undefined) {
    const card = existingCard(domain, issued);
    if (card.contentHash !== undefined && card.contentHash !== contentHash) {
      warnOfOtherContent(domain, command, card);
    }
    return card;
  }
  const refusal = refusalStoredUnder(domain, idempotencyKey);
  if (refusal !== undefined) {
    if (refusal.contentHash !== contentHash) warnOfOtherContent(domain, command, refusal);
    return problemOf(refusal);
  }
  const result = issueNewCard(domain, command);
  if (!(result instanceof Problem)) remember(domain, idempotencyKey, result, contentHash);
  else if (domain.storeRefusals) rememberRefusal(domain, idempotencyKey, result, contentHash);
  return result;
}

function issueNewCard(domain: Domain<State>, command: IssueCardCommand): StoredCard | Problem {
  const { templateId, body, issuedVia } = command;
  const template = domain.state.templates.get(templateId);
  if (template === undefined || template.isArchived) {
    return new Problem(404, "There is no template with this id.");
  }
  if (!IssueCardRequest(body)) {
    return Problem.invalid(faultsOf(IssueCardRequest, (key) => labelOf(template, key)));
  }
  const { customer: given } = body;
  const fieldValues = trimmed(body.fieldValues ?? {});
  const contact = readContact(given, domain);
  const faults = [...fieldFaults(template, fieldValues), ...(Array.isArray(contact) ? contact : [])];
  if (faults.length > 0 || Array.isArray(contact)) return Problem.invalid(faults);

  const customer = findOrCreateCustomer(domain, contact);
  const card = createCard(domain, template, customer, fieldValues, issuedVia);
  customer.privacyVersion = given.consents.privacy.version.trim();
  const { marketing } = given.consents;
  if (marketing !== undefined) {
    // Its absence withdraws nothing: it is present only if the user opted in (spec 2.4).
    changeMarketingConsent(domain, customer, { marketing: true, ...marketing });
  }
  return card;
}

/** Without surrounding spaces, which phones and browsers add. */
function trimmed(values: FieldValues): FieldValues {
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? value.trim() : value]),
  );
}

/** The response is the stored one, so the new content has no effect: it may even be about another person. */
function warnOfOtherContent(
  domain: Domain<State>,
  { templateId, idempotencyKey = "" }: IssueCardCommand,
  stored: StoredCard | { status: number },
): void {
  const keyHash = (hashText(idempotencyKey) >>> 0).toString(16).padStart(8, "0");
  const isKnown = domain.state.templates.has(templateId); // what is unknown may be anything that somebody typed
  const [outcome, advice] =
    "balance" in stored
      ? [
          `card ${stored.id}`,
          "If this is another person, two people share a key: set idempotencyNamespace, and use user ids that never repeat.",
        ]
      : [`the stored ${stored.status}`, "After a correction send a new key: set another salt."];
  warn(domain, {
    type: "replay-with-other-content",
    message:
      `An idempotency key was repeated with other content (key hash ${keyHash}, ${isKnown ? `template ${templateId}` : "unknown template"}). ` +
      `The response was ${outcome}, and the new content had no effect. ${advice}`,
    keyHash,
    ...(isKnown && { templateId }),
    ...("balance" in stored && { cardId: stored.id }),
  });
}

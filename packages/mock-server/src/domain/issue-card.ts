/** Issues a card (spec 4.1): idempotency, template, customer, card, consents, in this order and all at once. */
import { IssueCardRequest } from "@loyalty-cards/openapi/validators";
import { createCard, existingCard, type StoredCard } from "./cards.ts";
import { changeMarketingConsent } from "./consents.ts";
import { findOrCreateCustomer, readContact } from "./customers.ts";
import { cardIssuedUnder, remember } from "./idempotency.ts";
import { Problem } from "./problem.ts";
import { faultsOf } from "./request-faults.ts";
import type { State } from "./state.ts";
import type { Domain } from "./surroundings.ts";
import { fieldFaults } from "./templates.ts";

export interface IssueCardCommand {
  templateId: string;
  /** The parsed body, whatever it is. */
  body: unknown;
  idempotencyKey: string | undefined;
  issuedVia: string;
}

export function issueCard(domain: Domain<State>, command: IssueCardCommand): StoredCard | Problem {
  const { templateId, body, idempotencyKey, issuedVia } = command;
  const issued = idempotencyKey === undefined ? undefined : cardIssuedUnder(domain, idempotencyKey);
  if (issued !== undefined) return existingCard(domain, issued);

  const template = domain.state.templates.get(templateId);
  if (template === undefined || template.isArchived) {
    return new Problem(404, "There is no template with this id.");
  }
  if (!IssueCardRequest(body)) return Problem.invalid(faultsOf(IssueCardRequest));
  const { customer: given, fieldValues = {} } = body;
  const contact = readContact(given, domain);
  const faults = [...fieldFaults(template, fieldValues), ...(Array.isArray(contact) ? contact : [])];
  if (faults.length > 0 || Array.isArray(contact)) return Problem.invalid(faults);

  const customer = findOrCreateCustomer(domain, contact);
  const card = createCard(domain, template, customer, fieldValues, issuedVia);
  customer.privacyVersion = given.consents.privacy.version;
  const { marketing } = given.consents;
  if (marketing !== undefined) {
    // Its absence withdraws nothing: it is present only if the user opted in (spec 2.4).
    changeMarketingConsent(domain, customer, { marketing: true, ...marketing });
  }
  if (idempotencyKey !== undefined) remember(domain, idempotencyKey, card.id);
  return card;
}

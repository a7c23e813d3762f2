/**
 * Warnings: requests that are probably mistakes of the website. They contain the keys of field
 * values, and no values or other personal data.
 */
import { toPrintable } from "@loyalty-cards/internal/format";
import { findNearestName } from "@loyalty-cards/internal/known-options";
import type { Result } from "@loyalty-cards/internal/result";
import type { components } from "@loyalty-cards/openapi";
import type { components as ControlSchemas } from "@loyalty-cards/openapi/control";
import { isMaintained } from "./cards.ts";
import type { Domain } from "./context.ts";
import type { Problem } from "./problem.ts";
import type { Customer, FieldValues, StoredCard, Template } from "./state.ts";
import { getTemplate } from "./templates.ts";

/** A request that is probably a mistake. */
export type RequestWarning = ControlSchemas["schemas"]["RequestWarning"];

type IssueCardRequest = components["schemas"]["IssueCardRequest"];

type RequestCustomer = IssueCardRequest["customer"];

type MemberNames<Value> = Record<keyof Value, true>;

/**
 * The members that the service reads, of each object of a request. They are not read from the
 * document, which few services need to load.
 */
const members = {
  request: { fieldValues: true, customer: true },
  customer: { phone: true, email: true, name: true, consents: true },
  consents: { privacy: true, marketing: true },
} satisfies {
  request: MemberNames<IssueCardRequest>;
  customer: MemberNames<RequestCustomer>;
  consents: MemberNames<RequestCustomer["consents"]>;
};

/**
 * The response is that of the first request, so the new content has no effect. It may even be about
 * another person.
 */
export function warnAboutOtherContent(
  domain: Domain,
  first: Result<StoredCard, Problem>,
  fieldValues: FieldValues,
): RequestWarning {
  const type = "replay-with-other-content";
  const what = "Other content under the same key";
  if (first.failure !== undefined) {
    const { status } = first.failure;
    const advice = "after a correction send a new key, with another keySuffix.";
    const message = `${what}. The response is the stored ${status} of the first request: ${advice}`;
    return createWarning(type, message, []);
  }
  const card = first.value;
  const template = getTemplate(domain, card);
  const fields = Object.keys({ ...card.fieldValues, ...fieldValues }).filter(
    (key) => !isMaintained(template, key) && card.fieldValues[key] !== fieldValues[key],
  );
  const names = fields.length === 0 ? "" : `: ${listNames(fields)}`;
  const advice =
    "Two people may share a key: set idempotencyNamespace (LOYALTY_IDEMPOTENCY_NAMESPACE), and use user ids that never repeat.";
  const response = `The response is card ${card.id} of the first request.`;
  return createWarning(type, `${what}${names}. ${advice} ${response}`, fields);
}

/**
 * A misspelt member is ignored, and a misspelt key is stored with the card: the field that was
 * meant stays empty.
 */
export function warnAboutUnknownFields(
  { id, fields }: Template,
  { fieldValues = {}, ...request }: IssueCardRequest,
): RequestWarning[] {
  const keys = fields.map(({ key }) => key);
  const hint =
    keys.length === 0 ? "The template has no fields." : `Its fields are ${listNames(keys)}.`;
  const type = "unknown-fields";
  const what = `fieldValues has keys that template ${id} does not have`;
  const { customer } = request;
  return [
    ...findUnknownNames({ type, what, value: fieldValues, known: keys, hint }),
    ...findUnknownMembers("The request", request, members.request),
    ...findUnknownMembers("customer", customer, members.customer),
    ...findUnknownMembers("customer.consents", customer.consents, members.consents),
  ];
}

function findUnknownMembers(name: string, value: object, known: object): RequestWarning[] {
  const what = `${name} has members that the service ignores`;
  return findUnknownNames({ type: "unknown-members", what, value, known: Object.keys(known) });
}

/** Another idempotency key for the same person: the website's user id has probably changed. */
export function warnAboutSecondCard(
  { state }: Domain,
  { cardIds }: Customer,
  template: Template,
): RequestWarning[] {
  const first = cardIds.find((id) => state.cards.get(id)?.templateId === template.id);
  if (first === undefined) return [];
  const advice =
    "Did the user id or the idempotencyNamespace (LOYALTY_IDEMPOTENCY_NAMESPACE) change? With the same ones the response is the first card.";
  const message = `The customer has the card ${first} of this template already. ${advice}`;
  return [createWarning("second-card", message, [])];
}

/** An object of the request, and the names that it may have. */
interface NameCheck {
  type: RequestWarning["type"];
  /** The beginning of the message. */
  what: string;
  value: object;
  known: string[];
  /** The end of the message. */
  hint?: string;
}

/** @returns one warning, or none. */
function findUnknownNames({ type, what, value, known, hint }: NameCheck): RequestWarning[] {
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length === 0) return [];
  const names = listNames(unknown, (key) => {
    const meant = findNearestName(key, known);
    return meant === undefined ? "" : ` (did you mean "${toPrintable(meant)}"?)`;
  });
  const message = `${what}: ${names}.`;
  return [createWarning(type, hint === undefined ? message : `${message} ${hint}`, unknown)];
}

const maxNames = 10;

function createWarning(
  type: RequestWarning["type"],
  message: string,
  fields: string[],
): RequestWarning {
  const names = fields.slice(0, maxNames).map((key) => toPrintable(key));
  return { type, message, ...(names.length > 0 && { fields: names }) };
}

/**
 * `"name", "nmae" (did you mean "name"?) and 3 more`.
 * @param getHint what is after a name.
 */
function listNames(names: readonly string[], getHint = (_name: string) => ""): string {
  const listed = names.slice(0, maxNames).map((name) => `"${toPrintable(name)}"${getHint(name)}`);
  const more = names.length - listed.length;
  return listed.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * The arguments of `issueCard`: template, request and options; their types, the checks of template
 * and request, and the body that is sent.
 */
import { formatType, textsOfMissingValues } from "@loyalty-cards/internal/format";
import type { PreparedRequest } from "@loyalty-cards/internal/issuing-steps";
import { describeUnknownName, type OptionNames } from "@loyalty-cards/internal/known-options";
import type { FieldValues, Customer as WireCustomer } from "@loyalty-cards/openapi/types";
import { configurationError, describeInvalidText, type IssuingError, isPromise } from "./errors.ts";
import { type KeyOptions, keyOptionNames } from "./idempotency.ts";
import { type CallOptions, callOptionNames } from "./options.ts";

export type { ConsentChange, FieldValues } from "@loyalty-cards/openapi/types";

/** Optional text can also be null, which empty columns of a database contain. */
type OrNull<Members> = { [Name in keyof Members]: Members[Name] | null };

/**
 * The cardholder: found by phone, then by email, else created ([spec
 * 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). A `phone`, `email`
 * or `name` that is `""`, blank or `null` is left out of the request.
 */
export interface Customer
  extends OrNull<Omit<WireCustomer, "consents">>,
    Pick<WireCustomer, "consents"> {}

type NoFields = Record<string, never>;

/**
 * The request for a card ([spec
 * 4.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-4-1)): the customer, and a
 * map from field keys of the template to values. `fieldValues` may be left out when the template
 * requires none.
 */
export type IssueCardRequest<Fields = FieldValues> = {
  customer: Customer;
} & (NoFields extends Fields ? { fieldValues?: Fields | undefined } : { fieldValues: Fields });

/** A template: its id, and the types of its fields. */
export interface Template<Fields> {
  readonly id: string;
  /** Carries only a type, and is never set. */
  readonly fields?: Fields;
}

/**
 * Defines a template ([spec
 * 2.7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-7)) and the types of its
 * fields. `issueCard` accepts and returns these fields only. The values are not validated at run
 * time: validate a form with your own schema before the call.
 * @typeParam Fields the fields.
 * @throws {IssuingError} `configuration` for an empty id.
 * @example
 * ```ts
 * import { createIssuingClient, defineTemplate } from "@loyalty-cards/issuing-client";
 *
 * const coffeeClub = defineTemplate<{ name: string; points?: number }>("tpl_coffee");
 * const customer = { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } };
 * const request = { fieldValues: { name: "Anna" }, customer };
 * const card = await createIssuingClient().issueCard(coffeeClub, request, { userId: 42 });
 * console.log(card.fieldValues.name.length); // a string
 * ```
 */
export function defineTemplate<Fields = FieldValues>(id: string): Template<Fields> {
  return Object.freeze({ id: parseTemplateId(id) });
}

/** @throws {IssuingError} `configuration` for a value that cannot be a path segment. */
export function parseId(name: string, id: unknown, advice = ""): string {
  if (id === undefined || id === null || (typeof id === "string" && id.trim() === ""))
    throw configurationError(`The ${name} is missing or empty.${advice}`);
  if (typeof id !== "string")
    throw configurationError(
      isPromise(id)
        ? `The ${name} is a promise: await it.`
        : `The ${name} must be a string; it is of type ${typeof id}.${advice}`,
    );
  if (textsOfMissingValues.includes(id))
    throw configurationError(`The ${name} ${describeInvalidText(id)}.${advice}`);
  // Dot segments would change the path; all other characters are encoded.
  if (id === "." || id === "..")
    throw configurationError(`The ${name} is "${id}", which is not an id.`);
  if (id.isWellFormed()) return id;
  throw configurationError(`The ${name} is not well-formed text.`);
}

function parseTemplateId(id: unknown): string {
  const advice =
    typeof id === "object" && id !== null
      ? " Pass its id, or what defineTemplate returns."
      : " Is LOYALTY_TEMPLATE_ID set? Copy the id from the service's console.";
  return parseId("template id", id, advice);
}

/**
 * Options of `issueCard`: `userId` or `idempotencyKey`, and the options of every method. One of the
 * two is required, because a call with a random key would issue another card each time. Passing
 * `undefined` for `userId`, `idempotencyKey`, `keySuffix` or `firstAttemptAt` throws.
 */
export type IssueCardOptions = CallOptions & KeyOptions;

export const issueOptionNames = {
  ...callOptionNames,
  ...keyOptionNames,
} satisfies OptionNames<IssueCardOptions>;

const requestNames = {
  customer: true,
  fieldValues: true,
} satisfies OptionNames<IssueCardRequest>;

const customerNames = {
  phone: true,
  email: true,
  name: true,
  consents: true,
} satisfies OptionNames<Customer>;
const customerMembers = { names: customerNames, noun: "member" } as const;

const consentNames = { privacy: true, marketing: true } satisfies OptionNames<Customer["consents"]>;
const consentMembers = { names: consentNames, noun: "member" } as const;
const versionMembers = { names: { version: true }, noun: "member" } as const;

/**
 * Validates template and request, and returns what is sent.
 * @throws {IssuingError} `configuration`.
 */
export function prepareRequest(
  template: string | Template<unknown>,
  request: IssueCardRequest<unknown>,
): PreparedRequest {
  const { id = template }: { id?: unknown } = Object(template);
  const templateId = parseTemplateId(id);
  for (const name of Object.keys(Object(request)))
    if (!Object.hasOwn(requestNames, name)) throw createMemberError(name);
  // spec 4.1: {} when there is nothing to fill
  const { customer, fieldValues = {} } = request ?? {};
  if (typeof customer !== "object" || customer === null)
    throw configurationError(describeMissingCustomer(request));
  for (const name of Object.keys(customer))
    if (!Object.hasOwn(customerNames, name))
      throw configurationError(describeUnknownName("customer", name, customerMembers));
  const { phone, email, name, consents } = customer;
  checkConsents(consents);
  checkFieldValues(fieldValues);
  const sent: Record<string, unknown> = { phone, email, name, consents };
  for (const contact of contacts) {
    checkContact(contact, sent[contact]);
    // The service would reject an empty form field or column.
    if (isBlank(sent[contact])) delete sent[contact];
  }
  return { templateId, body: JSON.stringify({ customer: sent, fieldValues }) };
}

/** The error for a member that the request does not have, with the place where it belongs. */
function createMemberError(name: string): IssuingError {
  let place: string | undefined;
  if (Object.hasOwn(issueOptionNames, name)) place = "the third argument";
  if (Object.hasOwn(customerNames, name)) place = "customer";
  if (name === "fields") place = "fieldValues";
  const owner = "The request of issueCard";
  return configurationError(
    place === undefined
      ? describeUnknownName(owner, name, { names: requestNames, noun: "member" })
      : `${owner} has no member "${name}": pass it in ${place}, as in issueCard("tpl_…", { customer, fieldValues }, { userId }).`,
  );
}

function describeMissingCustomer(request: unknown): string {
  if (isPromise(request)) return "The request of issueCard is a promise: await it.";
  const type = Object.prototype.toString.call(request).slice(8, -1);
  const given = type === "Object" ? "" : ` The request is of type ${type}.`;
  return `request.customer is missing: { customer: { phone, consents: { privacy: { version } } } }.${given}`;
}

const isBlank = (value: unknown) =>
  value === null || (typeof value === "string" && value.trim() === "");

/**
 * Validates consents (spec 2.4): the program sets them, so the user could not correct a 422.
 * @throws {IssuingError} `configuration`.
 */
function checkConsents(
  consents: { privacy?: { version?: unknown } | null; marketing?: unknown } | null | undefined,
): void {
  const version = consents?.privacy?.version;
  if (typeof version !== "string" || isBlank(version) || textsOfMissingValues.includes(version))
    throw configurationError(
      `customer.consents.privacy.version ${describeInvalidText(version)}: set the version of the privacy text that the user accepted, such as customer: { consents: { privacy: { version: "2026-01" } } }.`,
    );
  if (consents?.marketing !== undefined) checkMarketing(consents.marketing);
  for (const [name, consent] of Object.entries(consents ?? {})) {
    const owner = "customer.consents";
    if (!Object.hasOwn(consentNames, name))
      throw configurationError(describeUnknownName(owner, name, consentMembers));
    for (const member of Object.keys(Object(consent)))
      if (member !== "version")
        throw configurationError(describeUnknownName(`${owner}.${name}`, member, versionMembers));
  }
}

function checkMarketing(marketing: unknown): void {
  if (isPromise(marketing))
    throw configurationError("customer.consents.marketing is a promise: await it.");
  // JSON would make {} of a Map, which is a consent.
  if (Object.prototype.toString.call(marketing) !== "[object Object]")
    throw configurationError(
      "customer.consents.marketing must be an object, { version } or {}: leave it out when the user did not opt in to news and offers.",
    );
  const { version } = marketing as { version?: unknown };
  if (version === undefined) return;
  if (typeof version === "string" && !textsOfMissingValues.includes(version)) return;
  throw configurationError(
    `customer.consents.marketing.version ${describeInvalidText(version)}: set the version of the text that the user accepted, or leave it out.`,
  );
}

const contacts = ["phone", "email", "name"] as const;

/**
 * @throws {IssuingError} `configuration` for a contact that is not text: a phone that became a
 * number has lost its `+` or `0`.
 */
function checkContact(name: string, value: unknown): void {
  if (value === undefined || value === null || typeof value === "string") return;
  const fix = name === "phone" ? 'keep it as text, such as "+48600100200".' : "keep it as text.";
  throw configurationError(
    `customer.${name} must be a string; it is of type ${formatType(value)}: ${fix}`,
  );
}

/** @throws {IssuingError} `configuration` for values that JSON would change or drop. */
function checkFieldValues(values: unknown): asserts values is FieldValues {
  // A list is not allowed, nor a Map or FormData, whose entries JSON would drop.
  if (Object.prototype.toString.call(values) !== "[object Object]")
    throw configurationError("fieldValues must be a plain object.");
  for (const [key, value] of Object.entries(values as object)) {
    const isSendable = typeof value === "string" || Number.isFinite(value) || value === undefined;
    if (isSendable) continue;
    const what = printableKey.test(key) ? `fieldValues.${key}` : "A value of fieldValues";
    throw configurationError(`${what} must be a string or a finite number.`);
  }
}

/** A field key that looks like a name. Other text can be personal data. */
export const printableKey = /^[\p{L}_][\p{L}\p{N}_.-]{0,63}$/u;

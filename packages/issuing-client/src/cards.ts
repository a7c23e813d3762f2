/**
 * Templates, cards, their operations and consents: the types, the ids, and what is read from a
 * response.
 */
import { textsOfNoValue } from "@loyalty-cards/internal/format";
import type * as wire from "@loyalty-cards/openapi/types";
import type { FieldValues } from "@loyalty-cards/openapi/types";
import { configurationError, describeNoText, isPromise } from "./errors.ts";
import type { Reading, UsableResponse } from "./response.ts";
import { unusable } from "./transport.ts";

/**
 * A card ([spec 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)).
 * Members that this version does not know are present at run time; read one with `"name" in card`.
 * @typeParam Fields the fields of the card's template, as `defineTemplate` has them.
 */
export interface Card<Fields = FieldValues> extends Omit<wire.Card, "fieldValues"> {
  /**
   * Map from a field key of the template to its value ([spec
   * 2.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-1)).
   */
  fieldValues: Fields;
}

/** Optional text can also be null, which empty columns of a database contain. */
type OrNull<Members> = { [Name in keyof Members]: Members[Name] | null };

/**
 * The cardholder: found by phone, then by email, else created ([spec
 * 2.3](https://loyalty-cards.github.io/loyalty-cards/specification#spec-2-3)). A `phone`, `email`
 * or `name` that is `""`, blank or `null` is left out of the request.
 */
export interface Customer
  extends OrNull<Omit<wire.Customer, "consents">>,
    Pick<wire.Customer, "consents"> {}

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
 * Defines a template and the types of its fields. `issueCard` accepts and returns these fields
 * only. The values are not validated at run time: validate a form with your own schema before the
 * call.
 * @typeParam Fields the fields.
 * @param id the id of the template.
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
  if (textsOfNoValue.includes(id))
    throw configurationError(`The ${name} ${describeNoText(id)}.${advice}`);
  // Dot segments would change the path; all other characters are encoded.
  if (id === "." || id === "..")
    throw configurationError(`The ${name} is "${id}", which is not an id.`);
  if (id.isWellFormed()) return id;
  throw configurationError(`The ${name} is not well-formed text.`);
}

export function parseTemplateId(id: unknown): string {
  const advice =
    typeof id === "object" && id !== null
      ? " Pass its id, or what defineTemplate returns."
      : " Is LOYALTY_TEMPLATE_ID set? Copy the id from the service's console.";
  return parseId("template id", id, advice);
}

export type {
  ConsentChange,
  ConsentState,
  Consents,
  FieldValues,
  Operation,
} from "@loyalty-cards/openapi/types";

const isString = (value: unknown): value is string => typeof value === "string";

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Accepts only http and https, because users open the page and its links. */
const isHttpUrl = (value: unknown) => isString(value) && /^https?:\/\/[^\s/?#]/i.test(value);

const isOptional = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isValid(value);

/**
 * The members of a card (spec 2.1). A value of another type is an error: the program would
 * calculate with it, and `"120" + 1` is `"1201"`.
 */
const isValidMember: Record<keyof Card, (value: unknown) => boolean> = {
  id: (value) => isString(value) && value !== "",
  publicUrl: isHttpUrl,
  status: isOptional(isString),
  customerId: isOptional(isString),
  loyaltyBalance: isOptional(Number.isFinite), // 1e999 is JSON, and becomes Infinity
  loyaltyTier: (value) => value === null || isOptional(isString)(value),
  issuedVia: isOptional(isString),
  fieldValues: isOptional(isObject),
};

const memberNames = Object.keys(isValidMember) as (keyof Card)[];

/**
 * Reads a card. An object that has an id and no `publicUrl` is not one: it can be a wrapper, or a
 * job that issues the card later.
 */
export function readCard<Fields>({ json, status }: UsableResponse): Reading<Card<Fields>> {
  const members = isObject(json) ? json : {};
  const invalid = memberNames.filter((name) => !isValidMember[name](members[name]));
  if (invalid.length === 0) return { value: members as typeof members & Card<Fields> };

  const { id, publicUrl, public_url, loyaltyBalance } = members;
  const hasPage = isHttpUrl(publicUrl) || isHttpUrl(public_url);
  if (status === 202 && !hasPage) {
    const what = "202: the card is issued later. Repeat the call with the same key.";
    return unusable(status, what, { isRetryable: true });
  }
  const isCard = hasPage || Number.isFinite(loyaltyBalance);
  const hasId = (isString(id) && id !== "") || Number.isSafeInteger(id);
  const cardId = isCard && hasId ? String(id) : undefined;
  return mismatch(status, `a card: ${describeDifference(members, invalid)}`, cardId);
}

const mismatch = (status: number, expected: string, cardId?: string) =>
  unusable(status, `something that is not ${expected}.`, { cardId });

function describeDifference(members: Record<string, unknown>, invalid: readonly string[]): string {
  const { publicUrl, public_url } = members;
  if (isString(public_url) && publicUrl === undefined)
    return "its members are in snake_case, such as public_url instead of publicUrl";
  if (Object.values(members).some(isCardLike)) return "the card is inside another object";
  return `missing or invalid: ${invalid.map((name) => `/${name}`).join(", ")}`;
}

const isCardLike = (value: unknown) =>
  isObject(value) &&
  isString(value["id"]) &&
  (isString(value["publicUrl"]) || isString(value["public_url"]));

/**
 * Returns the keys of the fields whose value on the card differs from the one that was sent. The
 * service removes surrounding spaces (`customer-match` in the assumptions) and may return a number
 * as text; neither is a difference.
 */
export function getDifferentFields(
  sent: Readonly<Record<string, unknown>>,
  { fieldValues }: { fieldValues?: unknown },
): string[] {
  if (!isObject(fieldValues)) return [];
  // `String` throws for some objects that JSON can have, such as { "toString": 1 }.
  const normalize = (value: unknown) => (typeof value === "object" ? value : String(value).trim());
  return Object.keys(sent).filter((key) => {
    const isOnBoth = sent[key] !== undefined && Object.hasOwn(fieldValues, key);
    return isOnBoth && normalize(sent[key]) !== normalize(fieldValues[key]);
  });
}

/**
 * The specification does not show the member that contains the list (spec 4.3); these names are
 * common.
 */
const listNames = ["items", "operations", "data", "results"];

/**
 * Members that the specification does not name, with their types. A value of another type is
 * removed.
 */
const optionalMembers = { change: Number.isFinite, balance: Number.isFinite, createdAt: isString };

/** Reads the history of a card. */
export function readOperations({ json, status }: UsableResponse): Reading<wire.Operation[]> {
  const lists = isObject(json) ? listNames.map((name) => json[name]) : [json];
  const list = lists.find(Array.isArray);
  if (!list?.every(isOperation)) return mismatch(status, "a list of operations");
  for (const entry of list as Record<string, unknown>[]) {
    entry["id"] = String(entry["id"]); // the specification gives it no type (spec 2.5)
    for (const [name, isValid] of Object.entries(optionalMembers))
      if (!isValid(entry[name])) delete entry[name];
  }
  return { value: list as wire.Operation[] };
}

const isOperation = (entry: unknown) =>
  isObject(entry) &&
  (isString(entry["id"]) || Number.isSafeInteger(entry["id"])) &&
  isOptional(isString)(entry["type"]);

/** Reads a consent. The text "false" for `marketingConsent` would count as consent in an `if`. */
export function readConsent({ json, status }: UsableResponse): Reading<wire.ConsentState> {
  if (isObject(json) && typeof json["marketingConsent"] === "boolean")
    return { value: json as unknown as wire.ConsentState };
  return mismatch(status, "a consent: marketingConsent is not true or false");
}

/**
 * Reads the response to a change of consent, which is not specified (spec 4.5): it may have no
 * consent.
 */
export function readChangedConsent(
  response: UsableResponse,
): Reading<wire.ConsentState | undefined> {
  return { value: readConsent(response).value };
}

/** Cards, their operations and consents: the types, and validation of what is sent and received. */
import type { Call } from "./call.ts";
import { configurationError } from "./errors.ts";
import type { FieldValues } from "./template.ts";

/**
 * A card (spec 2.1). Members that this version does not know are kept at run time; read one with `"name" in card`.
 * @typeParam Fields the fields of the card's template, as `defineTemplate` has them.
 */
export interface Card<Fields = FieldValues> {
  /** Identifier of the card. Store it with your user (spec 2.1). */
  id: string;
  /** URL of the public card page, and target of the QR code (spec 2.1). */
  publicUrl: string;
  /** The state of the card; `active` for a new card (spec 3.1). */
  status: "active" | (string & {});
  /** Identifier of the customer (spec 2.1). */
  customerId: string;
  /** The current balance in points or stamps; 0 for a new card (spec 2.1). */
  loyaltyBalance: number;
  /** The name of the current tier; null for a new card (spec 2.1). */
  loyaltyTier: string | null;
  /** `website` when the card was issued with a Website key (spec 2.1). */
  issuedVia: "website" | "api" | (string & {});
  /** Map from a field key of the template to its value (spec 2.1). */
  fieldValues: Fields;
}

/**
 * Whom a card is issued to: found by phone, then by e-mail, else created (spec 2.3). A `phone`, `email` or `name` that is
 * `""`, blank or `null` is left out of the request.
 */
export interface Customer {
  /** In E.164 or local format (spec 2.3). */
  phone?: string | null | undefined;
  /** Matches the customer if no phone matches (spec 2.3). */
  email?: string | null | undefined;
  /** The customer's name (spec 2.3). */
  name?: string | null | undefined;
  /** The consents given at sign-up (spec 2.4). */
  consents: Consents;
}

/** The consents given at sign-up (spec 2.4). */
export interface Consents {
  /** The privacy text that the customer accepted (spec 2.4). */
  privacy: {
    /** Version label of that text; not blank (spec 2.4). */
    version: string;
  };
  /** Present only if the customer opted in to marketing; may be empty (spec 2.4). */
  marketing?:
    | {
        /** Version label of the marketing text (spec 2.4). */
        version?: string | undefined;
      }
    | undefined;
}

/** What a card is issued from (spec 4.1). `fieldValues` may be left out when the template requires none. */
export type IssueCardRequest<Fields = FieldValues> = {
  /** The customer, identified by phone first, then by e-mail (spec 2.3). */
  customer: Customer;
} & (Record<string, never> extends Fields
  ? {
      /** Map from a field key of the template to its value (spec 4.1). */
      fieldValues?: Fields | undefined;
    }
  : {
      /** Map from a field key of the template to its value (spec 4.1). */
      fieldValues: Fields;
    });

const isAbsent = (value: unknown) => value === undefined;

/** Values of a card's members (spec 2.1). A member must not have another type: `"120"` cannot be added to. */
const memberTypes = Object.entries({
  id: (value) => isString(value) && value !== "",
  publicUrl: isHttpUrl,
  status: (value) => isAbsent(value) || isString(value),
  customerId: (value) => isAbsent(value) || isString(value),
  loyaltyBalance: (value) => isAbsent(value) || Number.isFinite(value), // 1e999 is JSON, and becomes Infinity
  loyaltyTier: (value) => isAbsent(value) || value === null || isString(value),
  issuedVia: (value) => isAbsent(value) || isString(value),
  fieldValues: (value) => isAbsent(value) || isObject(value),
} satisfies Record<keyof Card, (value: unknown) => boolean>);

/**
 * Validates a card. An object that has an id and no `publicUrl` is not one: it can be a wrapper, or a job that issues the card later.
 * @throws {IssuingError} `invalid-response`, which says what differs. It has the `cardId` when other members show that the id is a card's.
 */
export function readCard<Fields>(call: Call, body: unknown, status: number): Card<Fields> {
  const members = isObject(body) ? body : {};
  const invalid = memberTypes.filter(([name, isValid]) => !isValid(members[name])).map(([name]) => name);
  if (invalid.length === 0) return members as typeof members & Card<Fields>;

  const { id, publicUrl, public_url, loyaltyBalance } = members;
  const hasPage = isHttpUrl(publicUrl) || isHttpUrl(public_url);
  if (status === 202 && !hasPage) {
    throw call.error(
      "The service accepted the request (202) and has not issued the card yet: repeat the call later with the same key.",
      { code: "invalid-response", outcome: "unknown", retryable: true },
    );
  }
  const isCard = hasPage || Number.isFinite(loyaltyBalance);
  const cardId = isString(id) || Number.isSafeInteger(id) ? String(id) : "";
  const difference = describeDifference(members, invalid);
  throw call.invalidResponse(`a card: ${difference}`, isCard && cardId !== "" ? cardId : undefined);
}

function describeDifference(members: Record<string, unknown>, invalid: readonly string[]): string {
  const { id, publicUrl, public_url } = members;
  if (isString(public_url) && isAbsent(publicUrl))
    return "its members are in snake_case, such as public_url instead of publicUrl";
  if (Object.values(members).some(isCardLike)) return "the card is inside another object";
  if (typeof id === "number") return "id is a number, not a string";
  if (!isString(id) || id === "") return "it has no id";
  if (isAbsent(publicUrl)) return "it has no publicUrl";
  if (isString(publicUrl) && invalid.includes("publicUrl")) return "/publicUrl is not an http or https URL";
  return `invalid type of ${invalid.map((name) => `/${name}`).join(", ")}`;
}

const isCardLike = (value: unknown) =>
  isObject(value) && isString(value["id"]) && (isString(value["publicUrl"]) || isString(value["public_url"]));

/** Only http and https, because users open the page and its links. */
function isHttpUrl(value: unknown): value is string {
  return isString(value) && /^https?:\/\//i.test(value) && URL.canParse(value);
}

/**
 * Returns the keys of the fields that the card has with another value than the one that was sent. The service removes surrounding
 * spaces (`customer-match` in the assumptions) and may return a number as text; neither counts.
 */
export function getDifferentFields(sent: Record<string, unknown>, card: { fieldValues?: unknown }): string[] {
  const { fieldValues } = card;
  if (!isObject(fieldValues)) return [];
  const normalize = (value: unknown) => String(value).trim();
  return Object.keys(sent).filter(
    (key) =>
      sent[key] !== undefined &&
      Object.hasOwn(fieldValues, key) &&
      normalize(sent[key]) !== normalize(fieldValues[key]),
  );
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * One entry of a card's history (spec 2.5). Only `id` and `type` are specified. Members that this version does not know are kept
 * at run time; read one with `"name" in operation`.
 */
export interface Operation {
  /** Identifier of the operation (spec 2.5). */
  id: string;
  /** Why the balance changed (spec 2.5). */
  type: "purchase" | "redemption" | "reward" | "correction" | "cancellation" | (string & {});
  /** Signed change of the balance, in points or stamps. Absent if the service does not send it (spec 2.5). */
  change?: number;
  /** Balance after the operation, in points or stamps. Absent if the service does not send it (spec 2.5). */
  balance?: number;
  /** Time of the operation, as the service sent it. Absent if the service does not send it (spec 2.5). */
  createdAt?: string;
}

/** The specification does not show the member that contains the list (spec 4.3); these names are common. */
const listNames = ["items", "operations", "data", "results"];

/** Members that the specification does not name. A value of another type is removed. */
const optionalMembers = { change: Number.isFinite, balance: Number.isFinite, createdAt: isString };

/** @throws {IssuingError} `invalid-response` when the response has no list of operations. */
export function readOperations(call: Call, body: unknown): Operation[] {
  const lists = isObject(body) ? listNames.map((name) => body[name]) : [body];
  const list = lists.find(Array.isArray);
  if (!list?.every(isOperation)) throw call.invalidResponse("a list of operations");
  for (const entry of list as Record<string, unknown>[]) {
    for (const [name, isValid] of Object.entries(optionalMembers))
      if (!isValid(entry[name])) delete entry[name];
  }
  return list as Operation[];
}

function isOperation(entry: unknown): boolean {
  return isObject(entry) && isString(entry["id"]) && (entry["type"] === undefined || isString(entry["type"]));
}

export function parseLimit(limit: unknown): number {
  if (Number.isSafeInteger(limit) && (limit as number) >= 1) return limit as number;
  throw configurationError(`limit must be a whole number, 1 or more, not ${String(limit)}.`);
}

/** The news-and-offers consent of a card holder (spec 2.6). */
export interface ConsentState {
  /** The customer (spec 2.6). */
  customer: {
    [member: string]: unknown;
  };
  /** Whether the customer agreed to marketing; false if withdrawn or never given (spec 2.6). */
  marketingConsent: boolean;
}

/** A change of the news-and-offers consent (spec 4.5). */
export interface ConsentChange {
  /** true gives, false withdraws (spec 4.5). */
  marketing: boolean;
  /** Version label of the consent text, if known (spec 4.5). */
  version?: string | undefined;
}

/** @throws {IssuingError} `invalid-response` when `marketingConsent` is not a boolean: the text "false" would count as consent in an `if`. */
export function readConsent(call: Call, body: unknown): ConsentState {
  const state = findConsent(body);
  if (state !== undefined) return state;
  throw call.invalidResponse("a consent: marketingConsent is not true or false");
}

/** @returns the consent; undefined when the body does not have it. The response to a PUT is not specified (spec 4.5). */
export function findConsent(body: unknown): ConsentState | undefined {
  const { marketingConsent } = (body ?? {}) as { marketingConsent?: unknown };
  return typeof marketingConsent === "boolean" ? (body as ConsentState) : undefined;
}

export function parseConsentChange(change: ConsentChange): ConsentChange {
  const { marketing, version } = change ?? {};
  if (typeof marketing !== "boolean") throw configurationError("marketing must be true or false.");
  if (version !== undefined && typeof version !== "string")
    throw configurationError("version must be a string.");
  return version === undefined ? { marketing } : { marketing, version };
}

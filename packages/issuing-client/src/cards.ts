/** Cards: what is sent to issue one, and what comes back. */
import type { Call } from "./call.ts";
import type { FieldValues } from "./template.ts";

/**
 * A card (spec 2.1). Members that this version does not know are kept at run time; read one with `"name" in card`.
 * @typeParam Fields the fields of the card's template, as `defineTemplate` has them.
 */
export interface Card<Fields = FieldValues> {
  /** Identifier of the card. Store it with your user (spec 2.1). */
  id: string;
  /** Address of the public card page, and target of the QR code (spec 2.1). */
  publicUrl: string;
  /** The state of the card; `active` on a newly issued one (spec 3.1). */
  status: "active" | (string & {});
  /** Identifier of the customer the card belongs to (spec 2.1). */
  customerId: string;
  /** The current balance in points or stamps; 0 on a newly issued card (spec 2.1). */
  loyaltyBalance: number;
  /** The name of the current level; null on a newly issued card (spec 2.1). */
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
  /** Identifies the customer when no phone matches (spec 2.3). */
  email?: string | null | undefined;
  /** The customer's name (spec 2.3). */
  name?: string | null | undefined;
  /** What the customer agreed to while signing up (spec 2.4). */
  consents: Consents;
}

/** What the customer agreed to while signing up (spec 2.4). */
export interface Consents {
  /** The privacy text the customer accepted (spec 2.4). */
  privacy: {
    /** Version label of that text; not blank (spec 2.4). */
    version: string;
  };
  /** Present only if the customer opted in to news and offers; may be empty (spec 2.4). */
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

/**
 * What the specification promises about the members of a card (spec 2.1), beside its id. A member may be absent, but a value of another
 * kind is not passed on as what it is not: `"120"` is no balance that can be added to.
 */
const expected = {
  publicUrl: isString,
  status: isString,
  customerId: isString,
  loyaltyBalance: Number.isFinite, // 1e999 is JSON, and becomes Infinity
  loyaltyTier: (value) => value === null || isString(value),
  issuedVia: isString,
  fieldValues: isObject,
} satisfies Record<Exclude<keyof Card, "id">, (value: unknown) => boolean>;

/**
 * Validates a card.
 * @throws {IssuingError} `invalid-response`: without an id it is no card, and the message names the members of another kind. The error has the
 * `cardId` when at least one other member is as promised: the id alone could be a wrapper's.
 */
export function readCard<Fields>(call: Call, body: unknown): Card<Fields> {
  if (!isObject(body) || !isString(body["id"]) || body["id"] === "")
    throw call.unpromised("a card: it has no id");
  const present = Object.entries(expected).filter(([name]) => body[name] !== undefined);
  // A card may have nothing but its id. The id of a wrapper, such as a request's, is another's.
  if (present.length === 0 && Object.values(body).some(hasId))
    throw call.unpromised("a card: it is inside of a wrapper");
  const wrong = present.filter(([name, isExpected]) => !isExpected(body[name]));
  if (wrong.length === 0) return body as typeof body & Card<Fields>;
  throw call.unpromised(
    `a card: the value of ${wrong.map(([name]) => `/${name}`).join(", ")} is of another kind`,
    wrong.length < present.length ? body["id"] : undefined,
  );
}

const hasId = (value: unknown) => isObject(value) && isString(value["id"]);

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

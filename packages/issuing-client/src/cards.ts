/** Cards: what is sent to issue one, and what comes back. */
import type { components } from "@loyalty-cards/openapi";
import type { Call } from "./call.ts";
import type { FieldValues } from "./template.ts";

type Schemas = components["schemas"];

/** A card, with the template's own fields in `fieldValues`. Members that this version does not know are kept. */
export type Card<Fields = FieldValues> = Schemas["Card"] & { fieldValues: Fields };

/** Undefined where a member may be absent: what forms and databases give. */
type OrUndefined<Value> = Value extends object
  ? {
      [Name in keyof Value]: Record<string, never> extends Pick<Value, Name>
        ? OrUndefined<Value[Name]> | undefined
        : OrUndefined<Value[Name]>;
    }
  : Value;

/** Nothing where a member is optional text: what empty form fields and columns give. */
type OrBlank<Value> = { [Name in keyof Value]: Value[Name] | null | undefined };

type Contact = "phone" | "email" | "name";

/**
 * Whom a card is issued to: found by phone, then by e-mail, else created (spec 2.3). A `phone`, `email` or `name` that is
 * `""`, blank or `null` is left out of the request.
 */
export type Customer = OrBlank<Pick<Schemas["Customer"], Contact>> &
  OrUndefined<Omit<Schemas["Customer"], Contact>>;

/** What a card is issued from. `fieldValues` may be left out when the template requires none. */
export type IssueCardRequest<Fields = FieldValues> = {
  customer: Customer;
} & (Record<string, never> extends Fields ? { fieldValues?: Fields | undefined } : { fieldValues: Fields });

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
} satisfies Record<Exclude<KnownMember, "id">, (value: unknown) => boolean>;

type KnownMember = keyof { [Name in keyof Schemas["Card"] as string extends Name ? never : Name]: unknown };

/**
 * Validates a card.
 * @throws {IssuingError} `invalid-response`: without an id it is no card, and the message names the members of another kind.
 */
export function readCard<Fields>(call: Call, body: unknown): Card<Fields> {
  if (!isObject(body) || !isString(body["id"]) || body["id"] === "")
    throw call.unpromised("a card: it has no id");
  const present = Object.entries(expected).filter(([name]) => body[name] !== undefined);
  // A card may have nothing but its id. The id of a wrapper, such as a request's, is another's.
  if (present.length === 0 && Object.values(body).some(hasId))
    throw call.unpromised("a card: it is inside of a wrapper");
  const wrong = present.filter(([name, isExpected]) => !isExpected(body[name]));
  if (wrong.length === 0) return body as Card<Fields>;
  throw call.unpromised(
    `a card: the value of ${wrong.map(([name]) => `/${name}`).join(", ")} is of another kind`,
  );
}

const hasId = (value: unknown) => isObject(value) && isString(value["id"]);

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

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

/** Whom a card is issued to: found by phone, then by e-mail, else created (spec 2.3). */
export type Customer = OrUndefined<Schemas["Customer"]>;

/** What a card is issued from. `fieldValues` may be left out when the template requires none. */
export type IssueCardRequest<Fields = FieldValues> = {
  customer: Customer;
} & (Record<string, never> extends Fields ? { fieldValues?: Fields | undefined } : { fieldValues: Fields });

/** @throws {IssuingError} `invalid-response`: half a card is no card. */
export function readCard<Fields>(call: Call, body: unknown): Card<Fields> {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  if (typeof id === "string" && id !== "") return body as Card<Fields>;
  throw call.unpromised("a card: it has no id");
}

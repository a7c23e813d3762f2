/** The types an integrator meets: fields of a template, both ways, and what the compiler refuses. */
import type { components } from "@loyalty-cards/openapi";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Card,
  type ConsentChange,
  type ConsentState,
  type Consents,
  type Customer,
  createIssuingClient,
  defineTemplate,
  type FieldValues,
  type IssueCardRequest,
  type IssuingErrorCode,
  isIssuingError,
  type Operation,
  type Template,
} from "../src/index.ts";

const client = createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" });
const customer = { consents: { privacy: { version: "1" } } };

test("a card has the members of the contract, typed", async () => {
  const card = await client.getCard("card_1");
  expectTypeOf(card).toEqualTypeOf<Card>();
  expectTypeOf(card.id).toEqualTypeOf<string>();
  expectTypeOf(card.loyaltyBalance).toEqualTypeOf<number>();
  expectTypeOf(card.loyaltyTier).toEqualTypeOf<string | null>();
  // @ts-expect-error a misspelt member
  card.loyaltyBalanse;
  if ("somethingNew" in card) expectTypeOf(card.somethingNew).toEqualTypeOf<unknown>();
  const other: typeof card.status = "frozen";
  expectTypeOf(other).toExtend<string>();
});

type Schemas = components["schemas"];

/** Undefined where a member may be absent: what forms and databases give. */
type OrUndefined<Value> = Value extends object
  ? {
      [Name in keyof Value]: Record<string, never> extends Pick<Value, Name>
        ? OrUndefined<Value[Name]> | undefined
        : OrUndefined<Value[Name]>;
    }
  : Value;
/** Null too where a member is optional text of the customer: what empty form fields and columns give. */
type OrNull<Value> = { [Name in keyof Value]: Value[Name] | null };
type Contact = "phone" | "email" | "name";

test("responses and requests are those of the service's document, member by member", () => {
  expectTypeOf<Card>().toEqualTypeOf<Schemas["Card"]>();
  expectTypeOf<Operation>().toEqualTypeOf<Schemas["Operation"]>();
  expectTypeOf<ConsentState>().toEqualTypeOf<Schemas["ConsentState"]>();
  expectTypeOf<ConsentChange>().toEqualTypeOf<OrUndefined<Schemas["ConsentChange"]>>();
  expectTypeOf<Consents>().toEqualTypeOf<OrUndefined<Schemas["Consents"]>>();
  expectTypeOf<Pick<Customer, Contact>>().toEqualTypeOf<
    OrNull<OrUndefined<Pick<Schemas["Customer"], Contact>>>
  >();
  expectTypeOf<keyof Customer>().toEqualTypeOf<keyof Schemas["Customer"]>();
  expectTypeOf<Customer["consents"]>().toEqualTypeOf<Consents>();
  expectTypeOf<keyof IssueCardRequest>().toEqualTypeOf<keyof Schemas["IssueCardRequest"]>();
  expectTypeOf<IssueCardRequest["fieldValues"]>().toEqualTypeOf<FieldValues | undefined>();
});

test("a template by its id takes and gives any fields", async () => {
  const card = await client.issueCard("tpl_club", { customer, fieldValues: { name: "Anna", points: 1 } });
  expectTypeOf(card.fieldValues).toExtend<FieldValues>();
  await client.issueCard("tpl_club", { customer });
});

test("values that JSON would change are no fields", async () => {
  // @ts-expect-error a field is a string or a number
  await client.issueCard("tpl_club", { customer, fieldValues: { when: new Date() } });
  // @ts-expect-error a field is a string or a number
  await client.issueCard("tpl_club", { customer, fieldValues: { name: { first: "A" } } });
});

test("a defined template types the fields in and out", async () => {
  const club = defineTemplate<{ name: string; points?: number }>("tpl_club");
  const card = await client.issueCard(club, { customer, fieldValues: { name: "Anna" } });
  expectTypeOf(card.fieldValues.name).toEqualTypeOf<string>();
  expectTypeOf(card.fieldValues.points).toEqualTypeOf<number | undefined>();
  // @ts-expect-error a required field is missing
  await client.issueCard(club, { customer, fieldValues: {} });
  // @ts-expect-error fieldValues are missing
  await client.issueCard(club, { customer });
  // @ts-expect-error a field of another type
  await client.issueCard(club, { customer, fieldValues: { name: 1 } });
});

test("a template that is an id or a defined one types the fields as the defined one", async () => {
  const either = {} as string | Template<{ name: string }>;
  const card = await client.issueCard(either, { customer, fieldValues: { name: "Anna" } });
  expectTypeOf(card).toEqualTypeOf<Card<{ name: string }>>();
  // @ts-expect-error a required field is missing
  await client.issueCard(either, { customer, fieldValues: {} });
});

test("a schema's types are the template's", async () => {
  const club = defineTemplate("tpl_club", z.object({ name: z.string() }));
  const card = await client.issueCard(club, { customer, fieldValues: { name: "Anna" } });
  expectTypeOf(card.fieldValues.name).toEqualTypeOf<string>();
});

test("the privacy version cannot be forgotten, and undefined is as good as absent", async () => {
  // @ts-expect-error consents are required
  await client.issueCard("t", { customer: {} });
  // @ts-expect-error the version is required
  await client.issueCard("t", { customer: { consents: { privacy: {} } } });
  await client.issueCard("t", { customer: { ...customer, phone: undefined, email: undefined } });
  await client.issueCard("t", { customer: { ...customer, phone: null, email: null, name: null } });
  // @ts-expect-error a number loses leading zeros and the plus sign
  await client.issueCard("t", { customer: { ...customer, phone: 48600100200 } });
});

test("what makes a call the same call is given, or left out, and never undefined", async () => {
  const request = { customer };
  const user = {} as { id: number | undefined };
  // @ts-expect-error a user without an id is not saved yet
  await client.issueCard("t", request, { userId: user.id });
  // @ts-expect-error undefined
  await client.issueCard("t", request, { idempotencyKey: undefined });
  // @ts-expect-error undefined
  await client.issueCard("t", request, { userId: 1, firstAttemptAt: undefined });
  // @ts-expect-error undefined
  await client.issueCard("t", request, { userId: 1, salt: undefined });
  await client.issueCard("t", request, { signal: undefined });
});

test("options are checked", () => {
  createIssuingClient();
  createIssuingClient({ baseUrl: process.env["LOYALTY_URL"], apiKey: process.env["LOYALTY_API_KEY"] });
  // @ts-expect-error undefined would give two people one card
  createIssuingClient({ idempotencyNamespace: process.env["SHOP"] });
  // @ts-expect-error a misspelt option
  createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k", timeoutMS: 1 });
  client.getCard("card_1", { signal: undefined, maxRetries: 0 });
});

test("an error's code is a union to switch on", (error: unknown = undefined) => {
  if (isIssuingError(error)) expectTypeOf(error.code).toEqualTypeOf<IssuingErrorCode>();
});

test("setConsent may tell nothing", async () => {
  expectTypeOf(await client.setConsent("c", { marketing: true })).toExtend<
    { marketingConsent: boolean } | undefined
  >();
});

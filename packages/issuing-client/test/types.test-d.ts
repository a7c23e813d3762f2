/** Public types: fields of templates, and mistakes that the compiler reports. */
import { expectTypeOf, test } from "vitest";
import {
  type Card,
  createIssuingClient,
  defineTemplate,
  type FieldValues,
  type IssueCardOptions,
  type IssuingClient,
  type IssuingErrorCode,
  isIssuingError,
  type Template,
} from "../src/index.ts";

const client = createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" });
const customer = { consents: { privacy: { version: "1" } } };
const request = { customer };

test("types the members of a card", async () => {
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

test("accepts and returns any fields with the id of a template, but no values that JSON would change", async () => {
  const fieldValues = { name: "Anna", points: 1 };
  const card = await client.issueCard("tpl_club", { customer, fieldValues }, { userId: 1 });
  expectTypeOf(card.fieldValues).toExtend<FieldValues>();
  await client.issueCard("tpl_club", request, { userId: 1 });
  const withDate = { customer, fieldValues: { when: new Date() } };
  // @ts-expect-error a field is a string or a number
  await client.issueCard("tpl_club", withDate, { userId: 1 });
  const withObject = { customer, fieldValues: { name: { first: "A" } } };
  // @ts-expect-error a field is a string or a number
  await client.issueCard("tpl_club", withObject, { userId: 1 });
  await client.issueCard("tpl_club", request, {
    deadlineMs: 5_000,
    // @ts-expect-error: the compiler names this member, not the missing idempotencyKey
    userId: undefined as string | undefined,
  });
});

test("types the fields of a defined template, in requests and cards, also of one that may be an id", async () => {
  const club = defineTemplate<{ name: string; points?: number }>("tpl_club");
  const card = await client.issueCard(
    club,
    { customer, fieldValues: { name: "Anna" } },
    { userId: 1 },
  );
  expectTypeOf(card.fieldValues.name).toEqualTypeOf<string>();
  expectTypeOf(card.fieldValues.points).toEqualTypeOf<number | undefined>();
  // @ts-expect-error a required field is missing
  await client.issueCard(club, { customer, fieldValues: {} }, { userId: 1 });
  // @ts-expect-error fieldValues are missing
  await client.issueCard(club, { customer }, { userId: 1 });
  // @ts-expect-error a field of another type
  await client.issueCard(club, { customer, fieldValues: { name: 1 } }, { userId: 1 });
  const either = {} as string | Template<{ name: string }>;
  const issued = await client.issueCard(
    either,
    { customer, fieldValues: { name: "Anna" } },
    { userId: 1 },
  );
  expectTypeOf(issued).toEqualTypeOf<Card<{ name: string }>>();
  // @ts-expect-error a required field is missing
  await client.issueCard(either, { customer, fieldValues: {} }, { userId: 1 });
});

test("requires the privacy version, and accepts undefined and null contacts", async () => {
  // @ts-expect-error consents are required
  await client.issueCard("t", { customer: {} }, { userId: 1 });
  // @ts-expect-error the version is required
  await client.issueCard("t", { customer: { consents: { privacy: {} } } }, { userId: 1 });
  for (const contact of [undefined, null])
    await client.issueCard(
      "t",
      { customer: { ...customer, phone: contact, email: contact } },
      { userId: 1 },
    );
  // @ts-expect-error a number loses leading zeros and the plus sign
  await client.issueCard("t", { customer: { ...customer, phone: 48600100200 } }, { userId: 1 });
});

test("requires userId or idempotencyKey, and neither both nor undefined", async () => {
  await client.issueCard("t", request, { userId: 1 });
  await client.issueCard("t", request, { userId: 1n, keySuffix: "second" });
  await client.issueCard("t", request, { idempotencyKey: "order-1", firstAttemptAt: 0 });
  const either: IssueCardOptions =
    Math.random() < 0.5 ? { userId: 1 } : { idempotencyKey: "order-1" };
  await client.issueCard("t", request, either);
  // @ts-expect-error without options each call would issue another card
  await client.issueCard("t", request);
  // @ts-expect-error undefined
  await client.issueCard("t", request, undefined);
  // @ts-expect-error neither
  await client.issueCard("t", request, {});
  // @ts-expect-error neither
  await client.issueCard("t", request, { deadlineMs: 5_000 });
  // @ts-expect-error neither
  await client.issueCard("t", request, { signal: undefined });
  // @ts-expect-error both
  await client.issueCard("t", request, { userId: 1, idempotencyKey: "order-1" });
  // @ts-expect-error both, one of them undefined
  await client.issueCard("t", request, { userId: undefined, idempotencyKey: "order-1" });
  // @ts-expect-error the suffix is part of a key that is derived from a user's id
  await client.issueCard("t", request, { idempotencyKey: "order-1", keySuffix: "second" });
  // @ts-expect-error the suffix is part of a key that is derived from a user's id
  await client.issueCard("t", request, { keySuffix: "second" });
  const user = {} as { id: string | undefined };
  // @ts-expect-error a user without an id is not saved yet
  await client.issueCard("t", request, { userId: user.id });
  // @ts-expect-error a key that may be undefined
  await client.issueCard("t", request, { idempotencyKey: user.id });
  // @ts-expect-error undefined
  await client.issueCard("t", request, { idempotencyKey: undefined });
  // @ts-expect-error undefined
  await client.issueCard("t", request, { userId: 1, firstAttemptAt: undefined });
  // @ts-expect-error undefined
  await client.issueCard("t", request, { userId: 1, keySuffix: undefined });
  await client.issueCard("t", request, { userId: 1, signal: undefined });
});

test("rejects misspelt options", () => {
  createIssuingClient();
  createIssuingClient({
    baseUrl: process.env["LOYALTY_URL"],
    apiKey: process.env["LOYALTY_API_KEY"],
  });
  // @ts-expect-error undefined would give two people one card
  createIssuingClient({ idempotencyNamespace: process.env["SHOP"] });
  // @ts-expect-error a misspelt option
  createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k", timeoutMS: 1 });
  client.getCard("card_1", { signal: undefined, maxRetries: 0 });
});

test("types the code of an error as a union, and the result of setConsent as possibly undefined", async () => {
  const error = {} as unknown;
  if (isIssuingError(error)) expectTypeOf(error.code).toEqualTypeOf<IssuingErrorCode>();
  type Consent = { marketingConsent: boolean } | undefined;
  expectTypeOf(await client.setConsent("c", { marketing: true })).toExtend<Consent>();
});

/** What openapi-typescript generates for one operation. */
interface OwnOperation {
  parameters: { query?: never; header?: never; path: { id: string }; cookie?: never };
  requestBody?: never;
  responses: {
    200: { headers: object; content: { "application/json": { phone?: string } } };
    404: { headers: object; content: { "application/problem+json": { detail: string } } };
  };
}
interface OwnPath {
  parameters: { query?: never; header?: never; path?: never; cookie?: never };
  get: OwnOperation;
  delete?: never;
}

test("types api by the paths of a service's own document, whether they begin with /api/v1 or not", async () => {
  const params = { path: { id: "customer_1" } };
  const prefixed = createIssuingClient<{ "/api/v1/customers/{id}": OwnPath }>().api;
  const plain = createIssuingClient<{ "/customers/{id}": OwnPath }>().api;
  for (const api of [prefixed, plain]) {
    const { data, error } = await api.GET("/customers/{id}", { params });
    expectTypeOf(data?.phone).toEqualTypeOf<string | undefined>();
    expectTypeOf(error?.detail).toEqualTypeOf<string | undefined>();
    // @ts-expect-error a path is written without /api/v1
    await api.GET("/api/v1/customers/{id}", { params });
    // @ts-expect-error a path that the document does not have
    await api.GET("/passes/{id}", { params });
    // @ts-expect-error a method that the document does not have
    await api.DELETE("/customers/{id}", { params });
    // @ts-expect-error a missing parameter
    await api.GET("/customers/{id}", { params: {} });
  }
});

test("types nothing but api by the paths, and api by the operations of the specification by default", async () => {
  const own = createIssuingClient<{ "/customers/{id}": OwnPath }>();
  expectTypeOf(own).toExtend<Omit<IssuingClient, "api">>();
  expectTypeOf(await own.getCard("card_1")).toEqualTypeOf<Card>();
  const { data } = await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
  expectTypeOf(data?.loyaltyBalance).toEqualTypeOf<number | undefined>();
  expectTypeOf(client).toEqualTypeOf<IssuingClient>();
});

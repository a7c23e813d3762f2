/** Responses with values of unexpected types: an error or an absent member, never a wrong value. */
import { expect, it } from "vitest";
import { card, json, scripted, signUp } from "./scripted.ts";

const clientFor = (body: unknown, status = 200) => scripted([json(body, status)]).client;

it.each([
  ["loyaltyBalance", "120"],
  ["loyaltyBalance", null],
  ["loyaltyTier", { name: "Silver" }],
  ["publicUrl", { href: "https://cards.test/1" }],
  ["status", 1],
  ["customerId", 7],
  ["issuedVia", false],
  ["fieldValues", null],
  ["fieldValues", []],
])("rejects a card whose %s is %j, and names the member", async (member, value) => {
  const body = { ...card, [member]: value };
  const expected = {
    code: "invalid-response",
    message: expect.stringContaining(`/${member}`),
    cardId: "card_1",
  };
  await expect(clientFor(body).getCard("card_1")).rejects.toMatchObject(expected);
  await expect(clientFor(body, 201).issueCard("tpl_club", signUp, { userId: 1 })).rejects.toMatchObject(
    expected,
  );
});

const refusedCards: [name: string, body: unknown, message: RegExp, cardId: string | undefined][] = [
  ["has no id", { ...card, id: undefined }, /it has no id/, undefined],
  ["has an empty id", { ...card, id: "" }, /it has no id/, undefined],
  ["has a number as id", { ...card, id: 7 }, /id is a number, not a string/, "7"],
  ["has a number as id that lost digits", { ...card, id: 2 ** 53 }, /id is a number/, undefined],
  ["has no publicUrl", { ...card, publicUrl: undefined }, /it has no publicUrl/, "card_1"],
  ["has a path as publicUrl", { ...card, publicUrl: "/cards/1" }, /\/publicUrl is not an http or/, "card_1"],
  ["has a script as publicUrl", { ...card, publicUrl: "javascript:alert(1)" }, /not an http or/, "card_1"],
  ["has no host in its publicUrl", { ...card, publicUrl: "https://" }, /not an http or/, "card_1"],
  ["has only an id", { id: "card_1" }, /it has no publicUrl/, undefined],
  ["is a job", { id: "job_1", status: "pending", customerId: "cus_1" }, /no publicUrl/, undefined],
  ["is a wrapper", { id: "req_1", data: card }, /the card is inside another object/, undefined],
  ["is a wrapper with a status", { id: "req_1", status: "ok", card }, /inside another object/, undefined],
  ["is a wrapper of unknown kind", { id: "req_1", status: "ok", card: { no: 1 } }, /no publicUrl/, undefined],
  [
    "is in snake_case",
    { id: "card_1", public_url: card.publicUrl, loyalty_balance: 0 },
    /in snake_case, such as public_url instead of publicUrl/,
    "card_1",
  ],
  ["is a list", [card], /it has no id/, undefined],
];

it.each(refusedCards)("rejects a response that %s, and says so", async (_name, body, message, cardId) => {
  for (const call of [
    clientFor(body, 201).issueCard("tpl_club", signUp, { userId: 1 }),
    clientFor(body).getCard("card_1"),
  ]) {
    const error = await call.catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: "invalid-response",
      outcome: "unknown",
      retryable: false,
      attempts: 1,
    });
    expect(error.message).toMatch(message);
    expect(error.cardId).toBe(cardId);
  }
});

it.each([
  { id: "job_1", status: "pending" },
  { id: "job_1", loyaltyBalance: 0 },
  { ok: true },
  null,
  undefined,
])("is retryable with the same key after 202 with %j, because the card is issued later", async (body) => {
  const response = body === undefined ? new Response(null, { status: 202 }) : json(body, 202);
  const { client } = scripted([response]);
  const error = await client.issueCard("tpl_club", signUp, { idempotencyKey: "order-1" }).catch((e) => e);
  expect(error).toMatchObject({
    code: "invalid-response",
    outcome: "unknown",
    retryable: true,
    idempotencyKey: "order-1",
    message: expect.stringContaining("accepted the request (202) and has not issued the card yet"),
  });
  expect("cardId" in error).toBe(false);
});

it("returns the card of a 202 that has it", async () => {
  expect(await clientFor(card, 202).issueCard("tpl_club", signUp, { userId: 1 })).toEqual(card);
});

it("returns a card with absent and unknown members", async () => {
  const { id, publicUrl } = card;
  const body = { id, publicUrl, status: "frozen", loyaltyTier: null, design: { id: "d_1", colour: "green" } };
  expect(await clientFor(body).getCard("card_1")).toEqual(body);
  expect(await clientFor(body, 201).issueCard("tpl_club", signUp, { userId: 1 })).toEqual(body);
  expect(await clientFor({ id, publicUrl }).getCard("card_1")).toEqual({ id, publicUrl });
});

it("removes members of an operation that have another type, except id and type", async () => {
  const other = { change: "5", balance: { after: 5 }, createdAt: 1_767_225_600 };
  const items = [{ id: "op_1", type: "purchase", ...other, shop: null }];
  const [operation] = await clientFor({ items }).listOperations("card_1");
  expect(operation).toEqual({ id: "op_1", type: "purchase", shop: null });
});

it("rejects operations whose type is not text", async () => {
  const items = [{ id: "op_1", type: 3 }];
  await expect(clientFor({ items }).listOperations("card_1")).rejects.toMatchObject({
    code: "invalid-response",
  });
});

it.each(["false", 0, null, { given: false }])("does not accept %j as a consent", async (value) => {
  const body = { customer: {}, marketingConsent: value };
  await expect(clientFor(body).getConsent("card_1")).rejects.toMatchObject({ code: "invalid-response" });
  expect(await clientFor(body).setConsent("card_1", { marketing: false })).toBeUndefined();
});

/** Responses with values of unexpected types: an error or an absent member, never a wrong value. */
import { describe, expect, it } from "vitest";
import type { IssuingClientOptions } from "../src/index.ts";
import { fetchTransport } from "../src/transport.ts";
import { card, json, scripted, signUp } from "./scripted.ts";

/** With `fetch`, and with a transport. */
const ways: [string, (options: IssuingClientOptions) => IssuingClientOptions][] = [
  ["fetch", (options) => options],
  ["transport", ({ fetch, ...options }) => ({ ...options, transport: fetchTransport(fetch) })],
];

describe.each(ways)("over %s", (_name, decorate) => {
  const clientFor = (body: unknown, status = 200) => scripted([json(body, status)], {}, decorate).client;

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

  it.each([
    ["has no id", { ...card, id: undefined }],
    ["has an id that is not text", { ...card, id: 7 }],
    ["has no valid member except its id", { id: "req_1", status: 200, data: card }],
    ["is a wrapper", { id: "req_1", data: card }],
  ])("has no cardId in the error when the response %s", async (_name, body) => {
    const failed = clientFor(body, 201).issueCard("tpl_club", signUp, { userId: 1 });
    const error = await failed.catch((thrown) => thrown);
    expect(error.code).toBe("invalid-response");
    expect("cardId" in error).toBe(false);
  });

  it("returns a card with absent and unknown members", async () => {
    const body = { id: "card_1", loyaltyTier: null, design: { colour: "green" } };
    expect(await clientFor(body).getCard("card_1")).toEqual(body);
  });

  it("does not use the id of a wrapper object as the id of a card", async () => {
    await expect(clientFor({ id: "req_1", data: card }).getCard("card_1")).rejects.toMatchObject({
      code: "invalid-response",
    });
  });

  it("accepts a card with only an id, because every other member can be absent", async () => {
    expect(await clientFor({ id: "card_1" }).getCard("card_1")).toEqual({ id: "card_1" });
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
});

/** Unknown ids and rejected fields: named in the message, and listed in `error.fields`. */
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { catchIssuingError, json, operationCalls, readText, scripted, signUp, template } from "./scripted.ts";
import { openWebsite } from "./website.ts";

describe("the message of a 404", () => {
  it("names the unknown template or card", async () => {
    const { client, service } = openWebsite();
    const noTemplate = client.issueCard("tpl_typo", signUp, { userId: 1 });
    expect(readText(await catchIssuingError(noTemplate))).toBe(
      `The service responded 404 to issueCard: template "tpl_typo" does not exist or is archived. Copy the id of a template from the console of the service at ${service.baseUrl}.`,
    );
    const { issueCard: _, ...calls } = operationCalls;
    for (const [name, call] of Object.entries(calls)) {
      expect(readText(await catchIssuingError(call(client)))).toBe(
        `The service responded 404 to ${name}: card "card_1" does not exist. Is it a card of the service at ${service.baseUrl}?`,
      );
    }
  });

  it("is one short line for any id", async () => {
    const { client } = scripted([json({}, 404)]);
    const { message } = await catchIssuingError(client.getCard(`a\nb"${"x".repeat(10_000)}`));
    expect(message).toContain('card "a\\nb\\"xxx');
    expect(message).not.toContain("\n");
    expect(message.length).toBeLessThan(330);
  });
});

const wrong = { ...signUp.customer, phone: "12", email: "anna at example" };

describe("a 422 of the service", () => {
  it("lists the rejected fields with a sentence for each, and names them in the message", async () => {
    const { client } = openWebsite();
    const error = await catchIssuingError(
      client.issueCard(template.id, { fieldValues: {}, customer: wrong }, { userId: 1 }),
    );
    expect(error.fields).toEqual([
      { pointer: "/fieldValues/name", detail: expect.stringContaining("Name") },
      { pointer: "/customer/phone", detail: expect.any(String) },
      { pointer: "/customer/email", detail: expect.any(String) },
    ]);
    expect(readText(error)).toBe(
      "The service responded 422 to issueCard: /fieldValues/name, /customer/phone, /customer/email. userMessage says what to correct.",
    );
  });

  it("lists the same fields for each call that shares the request", async () => {
    const { client } = openWebsite();
    const request = { ...signUp, customer: wrong };
    const calls = [1, 2].map(() => catchIssuingError(client.issueCard(template.id, request, { userId: 1 })));
    const [first, second] = await Promise.all(calls);
    expect(first?.fields.map(({ pointer }) => pointer)).toEqual(["/customer/phone", "/customer/email"]);
    expect(second?.fields).toEqual(first?.fields);
    expect(second?.fields).not.toBe(first?.fields);
  });

  it("reads pointers in the form of a URI fragment, as RFC 9457 writes them", async () => {
    const errors = [{ pointer: "#/fieldValues/imi%C4%99", detail: "Please fill in the name." }];
    const { client } = scripted([json({ errors, detail: "The name is missing." }, 422)]);
    const error = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect(error.fields).toEqual([{ pointer: "/fieldValues/imię", detail: "Please fill in the name." }]);
    expect(error.message).toContain(": /fieldValues/imię. userMessage");
  });

  it.each([
    ["no errors", {}],
    ["errors that are not a list", { errors: "phone" }],
    ["an object of errors", { errors: { phone: ["is wrong"] } }],
    ["entries without a valid pointer", { errors: [null, 7, "phone", [], { pointer: 7 }, { detail: "x" }] }],
    [
      "strings that are not pointers",
      { errors: [{ pointer: "phone" }, { pointer: "#%" }, { pointer: "#x" }] },
    ],
    ["a pointer that is too long", { errors: [{ pointer: `/${"x".repeat(300)}` }] }],
  ])("has no fields when its body has %s", async (_name, body) => {
    const { client } = scripted([json(body, 422)]);
    const error = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect(error.fields).toEqual([]);
    expect(readText(error)).toBe(
      "The service responded 422 to issueCard: the response has no detail that says what to correct.",
    );
  });

  it.each([
    ["none", {}],
    ["a blank one", { detail: " " }],
    ["one that is not text", { detail: { phone: "is wrong" } }],
    ["a page", { detail: "x".repeat(1_001) }],
  ])("does not refer to userMessage when its detail is %s", async (_name, members) => {
    const errors = [{ pointer: "/customer/phone" }];
    const { client } = scripted([json({ errors, ...members }, 422)]);
    const error = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect(readText(error)).toBe("The service responded 422 to issueCard: /customer/phone.");
  });

  it("keeps at most 50 fields, and names at most 10 in the message", async () => {
    const errors = Array.from({ length: 5_000 }, (_, index) => ({ pointer: `/fieldValues/f${index}` }));
    const { client } = scripted([json({ errors }, 422)]);
    const { fields, message } = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect(fields).toHaveLength(50);
    expect(message.match(/\/fieldValues\//g)).toHaveLength(10);
  });

  it("leaves out a detail that is blank, too long or not text", async () => {
    const details = ["  ", "x".repeat(1_001), 7, "x".repeat(1_000)];
    const errors = details.map((detail) => ({ pointer: "/customer/phone", detail }));
    const { client } = scripted([json({ errors }, 422)]);
    const { fields } = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect(fields.map(({ detail }) => detail)).toEqual([undefined, undefined, undefined, details[3]]);
  });

  it("prints no values when the pointers of the service contain values", async () => {
    const pointers = [
      "/customer/+48600100200",
      "/customer/48600100200",
      "/fieldValues/Anna",
      "/Anna",
      "/fieldValues/name",
    ];
    const errors = pointers.map((pointer) => ({ pointer, detail: "Anna, +48600100200" }));
    const { client } = scripted([json({ errors }, 422)]);
    const error = await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }));
    expect(error.fields).toHaveLength(pointers.length);
    const printed = inspect(error) + JSON.stringify(error) + error.stack;
    expect(printed).toContain(": /fieldValues/name.");
    expect(printed).not.toMatch(/Anna|48600100200/);
  });
});

it("sets fields to an empty list in other errors", async () => {
  const { client } = scripted([json({ errors: [{ pointer: "/customer/phone" }] }, 503)], { maxRetries: 0 });
  expect((await catchIssuingError(client.issueCard(template.id, signUp, { userId: 1 }))).fields).toEqual([]);
  expect((await catchIssuingError(client.getCard(""))).fields).toEqual([]);
});

/** Issuing a card: every rule of spec 4.1, and what the service decides where it is silent. */
import { describe, expect, it } from "vitest";
import { createMockService, manualClock } from "../src/index.ts";
import { caller, noon, openShop, signUp, template } from "./shop.ts";

describe("a newly issued card", () => {
  it("is active, empty, without a level, and issued via the website", async () => {
    const { service, issue } = openShop();
    const { status, body } = await issue(
      signUp({ phone: "+48600100200" }, { firstName: "Anna", city: "Praga" }),
    );
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^card_/),
      publicUrl: expect.stringMatching(/^https:\/\/cards\.mock\.test\/cards\/[\w-]+$/),
      status: "active",
      customerId: expect.stringMatching(/^cus_/),
      loyaltyBalance: 0,
      loyaltyTier: null,
      issuedVia: "website",
      fieldValues: { firstName: "Anna", city: "Praga", points: 0 },
    });
    expect(service.cards.get(body.id)).toEqual(body);
  });

  it("shows its balance in the points field, whatever was given for that", async () => {
    const { body } = await openShop().issue(signUp({}, { firstName: "Anna", points: 500 }));
    expect([body.loyaltyBalance, body.fieldValues.points]).toEqual([0, 0]);
  });

  it("does not tell its id by the address of its page", async () => {
    const { body } = await openShop().issue();
    expect(body.publicUrl).not.toContain(body.id);
  });

  it("is issued via the API under a Full key", async () => {
    const { service, call } = openShop();
    const path = `/api/v1/templates/${template.id}/passes`;
    const { body } = await call("POST", path, { body: signUp(), key: service.apiKeys.full });
    expect(body.issuedVia).toBe("api");
  });
});

describe("the same Idempotency-Key", () => {
  const key = { "idempotency-key": "user-1" };

  it("within 24 hours answers the same card with 201, whatever the body", async () => {
    const { service, issue } = openShop();
    const first = await issue(signUp(), key);
    await service.clock.advance("23h");
    for (const body of [signUp(), signUp({ email: "other@example.com" }), {}]) {
      expect(await issue(body, key)).toMatchObject({ status: 201, body: { id: first.body.id } });
    }
  });

  it("answers the card as it is now", async () => {
    const { service, issue } = openShop();
    const { body } = await issue(signUp(), key);
    service.cards.purchase(body.id, { points: 5 });
    expect((await issue(signUp(), key)).body.loyaltyBalance).toBe(5);
  });

  it("a millisecond before 24 hours is the same card, after 24 hours another", async () => {
    const { service, issue } = openShop();
    const { body } = await issue(signUp(), key);
    await service.clock.advance(24 * 3_600_000 - 1);
    expect((await issue(signUp(), key)).body.id).toBe(body.id);
    await service.clock.advance(1);
    expect((await issue(signUp(), key)).body.id).not.toBe(body.id);
  });

  it("may try again after a refusal: only what succeeded is kept", async () => {
    const { issue } = openShop();
    expect((await issue(signUp({}, {}), key)).status).toBe(422);
    expect((await issue(signUp(), key)).status).toBe(201);
  });

  it("runs once when 30 calls come at the same time", async () => {
    const { issue } = openShop();
    const answers = await Promise.all(Array.from({ length: 30 }, () => issue(signUp(), key)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
  });

  it("replays also when the template was archived meanwhile", async () => {
    const { service, issue } = openShop();
    const { body } = await issue(signUp(), key);
    service.templates.archive(template.id);
    expect(await issue(signUp(), key)).toMatchObject({ status: 201, body: { id: body.id } });
  });

  it.each(["", "x".repeat(256)])("of %j is refused: two users might share it", async (value) => {
    const { issue } = openShop();
    expect((await issue(signUp(), { "idempotency-key": value })).status).toBe(400);
  });

  it("absent or different issues another card", async () => {
    const { issue } = openShop();
    const answers = [
      await issue(signUp(), key),
      await issue(signUp(), { "idempotency-key": "user-2" }),
      await issue(),
    ];
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
  });
});

describe("404", () => {
  it("answers an unknown template", async () => {
    const { call } = openShop();
    expect((await call("POST", "/api/v1/templates/tpl_none/passes", { body: signUp() })).status).toBe(404);
  });

  it("answers an archived template exactly as an unknown one", async () => {
    const { service, call, issue } = openShop();
    const unknown = await call("POST", "/api/v1/templates/tpl_none/passes", { body: signUp() });
    service.templates.archive(template.id);
    expect((await issue()).body).toEqual(unknown.body);
  });
});

describe("422", () => {
  const refusals: [string, unknown, string, string][] = [
    ["a required field is missing", signUp({}, {}), "/fieldValues/firstName", 'Please fill in "First name".'],
    [
      "a required field is blank",
      signUp({}, { firstName: " " }),
      "/fieldValues/firstName",
      'Please fill in "First name".',
    ],
    [
      "a number field holds text",
      signUp({}, { firstName: "A", points: "7" }),
      "/fieldValues/points",
      '"points" must be a number.',
    ],
    [
      "a text field holds a number",
      signUp({}, { firstName: 7 }),
      "/fieldValues/firstName",
      '"First name" must be a text.',
    ],
    ["the phone is malformed", signUp({ phone: "12" }), "/customer/phone", "The phone number is not valid."],
    [
      "the phone hides in a sentence",
      signUp({ phone: "call +48600100200" }),
      "/customer/phone",
      "The phone number is not valid.",
    ],
    [
      "the e-mail is malformed",
      signUp({ email: "anna@" }),
      "/customer/email",
      "The e-mail address is not valid.",
    ],
    ["the customer is missing", {}, "/customer", '"customer" is missing.'],
    ["the consents are missing", { customer: {} }, "/customer/consents", '"customer.consents" is missing.'],
    [
      "the privacy version is missing",
      { customer: { consents: { privacy: {} } } },
      "/customer/consents/privacy/version",
      '"customer.consents.privacy.version" is missing.',
    ],
    [
      "the privacy version is blank",
      signUp({ consents: { privacy: { version: " " } } }),
      "/customer/consents/privacy/version",
      '"customer.consents.privacy.version" must not be blank.',
    ],
    [
      "a value is an object",
      signUp({}, { firstName: {} }),
      "/fieldValues/firstName",
      '"fieldValues.firstName" must be of type string or number.',
    ],
    ["the body is a list", [], "", "The body must be of type object."],
  ];

  it.each(refusals)("answers when %s", async (_name, body, pointer, detail) => {
    const answer = await openShop().issue(body);
    expect(answer).toMatchObject({ status: 422, body: { detail, errors: [{ pointer, detail }] } });
  });

  it("names all faults at once, and creates nothing", async () => {
    const { service, issue } = openShop();
    const before = service.snapshot();
    const { body } = await issue(signUp({ phone: "1", email: "x" }, {}));
    expect(body.detail).toBe(
      'Please fill in "First name". The phone number is not valid. The e-mail address is not valid.',
    );
    expect(service.snapshot()).toEqual(before);
  });

  it("answers a number that JSON can write and nobody can hold", async () => {
    const { call } = openShop();
    const body =
      '{"fieldValues":{"firstName":"A","x":1e400},"customer":{"consents":{"privacy":{"version":"1"}}}}';
    const answer = await call("POST", `/api/v1/templates/${template.id}/passes`, { body });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: "/fieldValues/x" }] } });
  });

  it("never repeats what the user typed", async () => {
    const { body } = await openShop().issue(signUp({ phone: "4242-secret", email: "secret@" }));
    expect(JSON.stringify(body)).not.toContain("secret");
  });

  it("marks a prototype's name as what it is: not given", async () => {
    const { service, call } = openShop();
    service.templates.create({
      id: "tpl_odd",
      name: "Odd",
      fields: [{ key: "constructor", type: "text", required: true }],
    });
    const answer = await call("POST", "/api/v1/templates/tpl_odd/passes", { body: signUp({}, {}) });
    expect(answer.status).toBe(422);
  });
});

describe("the customer", () => {
  async function customerOf(issue: ReturnType<typeof openShop>["issue"], contact: Record<string, string>) {
    const { status, body } = await issue(signUp(contact));
    expect(status).toBe(201);
    return body.customerId as string;
  }

  it("is found by phone, in whatever form it is written", async () => {
    const { issue } = openShop();
    const anna = await customerOf(issue, { phone: "+48600100200" });
    for (const phone of ["600100200", "600 100 200", "0048 600-100-200", "+48 (600) 100 200"]) {
      expect(await customerOf(issue, { phone })).toBe(anna);
    }
    expect(await customerOf(issue, { phone: "+48600100201" })).not.toBe(anna);
  });

  it("writes local numbers in the default country's form", async () => {
    const { issue } = openShop({ defaultCountry: "DE" });
    const anna = await customerOf(issue, { phone: "030 901820" });
    expect(await customerOf(issue, { phone: "+4930901820" })).toBe(anna);
  });

  it("is found by e-mail, whatever its case", async () => {
    const { issue } = openShop();
    const anna = await customerOf(issue, { email: "Anna@Example.com" });
    expect(await customerOf(issue, { email: "anna@example.COM" })).toBe(anna);
  });

  it("is found by e-mail when no phone matches", async () => {
    const { issue } = openShop();
    const anna = await customerOf(issue, { email: "anna@example.com" });
    expect(await customerOf(issue, { phone: "+48600100200", email: "anna@example.com" })).toBe(anna);
  });

  it("of the phone wins when the e-mail is another's", async () => {
    const { issue } = openShop();
    const byPhone = await customerOf(issue, { phone: "+48600100200" });
    const byEmail = await customerOf(issue, { email: "anna@example.com" });
    expect(byPhone).not.toBe(byEmail);
    expect(await customerOf(issue, { phone: "+48600100200", email: "anna@example.com" })).toBe(byPhone);
    expect(await customerOf(issue, { email: "anna@example.com" })).toBe(byEmail);
  });

  it("has blanks filled in and nothing overwritten", async () => {
    const { issue, call } = openShop();
    await customerOf(issue, { phone: "+48600100200", name: "Anna" });
    const { body } = await issue(signUp({ phone: "+48600100200", email: "anna@example.com", name: "Other" }));
    await customerOf(issue, { phone: "+48600100200", email: "new@example.com" });
    const consent = await call("GET", `/api/v1/passes/${body.id}/consent`);
    expect(consent.body.customer).toMatchObject({
      phone: "+48600100200",
      email: "anna@example.com",
      name: "Anna",
    });
  });

  it("without phone and e-mail is always a new one", async () => {
    const { issue } = openShop();
    expect(await customerOf(issue, {})).not.toBe(await customerOf(issue, {}));
  });
});

it("two services do not see each other", async () => {
  const [one, two] = [openShop(), openShop()];
  const { body } = await one.issue();
  expect((await two.call("GET", `/api/v1/passes/${body.id}`)).status).toBe(404);
});

it("issues from the seeded template with nothing to fill in", async () => {
  const service = createMockService({ clock: manualClock(noon) });
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  const path = `/api/v1/templates/${service.templateId}/passes`;
  const { status, body } = await call("POST", path, { body: signUp({}, {}) });
  expect([status, body.fieldValues]).toEqual([201, { points: 0 }]);
});

/** Issuing a card: every rule of spec 4.1, and what the service decides where it is silent. */
import { describe, expect, it } from "vitest";
import { createMockService, type MockServiceOptions, manualClock } from "../src/index.ts";
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

describe("a service that stores refusals", () => {
  const key = { "idempotency-key": "user-1" };
  const missing = signUp({}, {});

  it("repeats a 422 under its key for 24 hours, also for a corrected form", async () => {
    const { service, issue } = openShop({ storeRefusals: true });
    const refused = await issue(missing, key);
    expect(refused.status).toBe(422);
    await service.clock.advance(24 * 3_600_000 - 1);
    const repeated = await issue(signUp(), key);
    expect([repeated.status, repeated.body]).toEqual([422, refused.body]);
    await service.clock.advance(1);
    expect((await issue(signUp(), key)).status).toBe(201);
  });

  it("issues a card to a corrected form under another key", async () => {
    const { issue } = openShop({ storeRefusals: true });
    expect((await issue(missing, key)).status).toBe(422);
    expect((await issue(signUp(), { "idempotency-key": "user-1 again" })).status).toBe(201);
    expect((await issue(missing)).status).toBe(422);
    expect((await issue(signUp())).status).toBe(201);
  });

  it("repeats a 404 under its key, also for a template that exists", async () => {
    const { call, issue } = openShop({ storeRefusals: true });
    const path = "/api/v1/templates/tpl_none/passes";
    expect((await call("POST", path, { body: signUp(), headers: key })).status).toBe(404);
    expect((await issue(signUp(), key)).status).toBe(404);
  });

  it("stores no 400, 401 and 415, which no form causes", async () => {
    const { call, issue } = openShop({ storeRefusals: true });
    const path = `/api/v1/templates/${template.id}/passes`;
    const asText = { ...key, "content-type": "text/plain" };
    expect((await call("POST", path, { body: "{", headers: key })).status).toBe(400);
    expect((await call("POST", path, { body: signUp(), headers: key, key: "wrong" })).status).toBe(401);
    expect((await call("POST", path, { body: signUp(), headers: asText })).status).toBe(415);
    expect((await issue(signUp(), key)).status).toBe(201);
  });

  it("repeats cards as any other service, and forgets refusals with a reset", async () => {
    const { service, issue } = openShop({ storeRefusals: true });
    expect((await issue(missing, key)).status).toBe(422);
    service.reset();
    const { status, body } = await issue(signUp(), key);
    expect(status).toBe(201);
    expect((await issue(missing, key)).body.id).toBe(body.id);
  });
});

describe("a replay with other content", () => {
  const key = { "idempotency-key": "staging user 1, anna@example.com" };
  const anna = signUp({ phone: "+48600100200", email: "anna@example.com", name: "Anna Secret" });
  const piotr = signUp({ phone: "+48600100999", email: "piotr@example.com", name: "Piotr Secret" });

  function openLoggingShop(options: MockServiceOptions = {}) {
    const lines: string[] = [];
    return { lines, ...openShop({ log: (line) => void lines.push(line), ...options }) };
  }

  it("is logged as a warning, and recorded with template and card", async () => {
    const { service, lines, issue } = openLoggingShop();
    const { body } = await issue(anna, key);
    expect((await issue(piotr, key)).body.id).toBe(body.id);
    expect(service.warnings()).toEqual([
      {
        id: expect.stringMatching(/^wrn_/),
        type: "replay-with-other-content",
        at: "2026-03-01T12:00:00.000Z",
        message: expect.stringMatching(
          new RegExp(`template ${template.id}.*card ${body.id}.*set idempotencyNamespace`),
        ),
        keyHash: expect.stringMatching(/^[0-9a-f]{8}$/),
        templateId: template.id,
        cardId: body.id,
      },
    ]);
    expect(lines).toEqual([`warning: ${service.warnings()[0]?.message}`]);
  });

  it("is logged without personal data and without the key", async () => {
    const { service, lines, issue, call } = openLoggingShop();
    await issue(anna, key);
    await issue(piotr, key);
    const path = "/api/v1/templates/anna%40example.com%0AForged/passes";
    await call("POST", path, { body: piotr, headers: key });
    const texts = [...lines, JSON.stringify(service.warnings())];
    expect(lines).toHaveLength(2);
    for (const text of texts) expect(text).not.toMatch(/example\.com|Secret|48600|user 1|Forged|Anna|Piotr/i);
  });

  it("is also one for another template with the same body", async () => {
    const { service, issue, call } = openLoggingShop();
    service.templates.create({ id: "tpl_other", name: "Other" });
    const { body } = await issue(anna, key);
    const path = "/api/v1/templates/tpl_other/passes";
    expect((await call("POST", path, { body: anna, headers: key })).body.id).toBe(body.id);
    expect(service.warnings()).toMatchObject([{ templateId: "tpl_other", cardId: body.id }]);
  });

  it("is not one when the content is the same, in whatever order its members are", async () => {
    const { service, lines, issue } = openLoggingShop();
    const { consents, ...contact } = anna.customer;
    await issue(anna, key);
    await issue(anna, key);
    await issue({ customer: { consents, ...contact }, fieldValues: anna.fieldValues }, key);
    await issue({ customer: { ...contact, consents }, fieldValues: anna.fieldValues }, key);
    await issue(piotr, { "idempotency-key": "user-2" });
    expect([service.warnings(), lines]).toEqual([[], []]);
  });

  it("of a stored refusal says to send a new key", async () => {
    const { service, issue } = openLoggingShop({ storeRefusals: true });
    await issue(signUp({}, {}), key);
    await issue(signUp(), key);
    const [warning, ...others] = service.warnings();
    expect(others).toEqual([]);
    expect(warning?.message).toMatch(/stored 422.*new key/);
    expect(warning).not.toHaveProperty("cardId");
  });

  it("is told to the console, newest first, and the newest 100 are kept", async () => {
    const { service, issue, call } = openLoggingShop();
    await issue(anna, key);
    for (let count = 0; count < 103; count++) {
      await service.clock.advance("1s");
      await issue(piotr, key);
    }
    const { body } = await call("GET", "/_mock/warnings?limit=2", { key: null });
    expect(body.total).toBe(100);
    expect(body.items).toMatchObject([
      { at: "2026-03-01T12:01:43.000Z" },
      { at: "2026-03-01T12:01:42.000Z" },
    ]);
    service.reset();
    expect(service.warnings()).toEqual([]);
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
      'Please enter a number for "points".',
    ],
    [
      "a text field holds a number",
      signUp({}, { firstName: 7 }),
      "/fieldValues/firstName",
      'Please enter text for "First name".',
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
  ];

  const forShop = "This form does not work at the moment. Please contact the shop.";
  const shapes: [string, unknown, string, string, string][] = [
    ["the customer is missing", {}, "/customer", forShop, '"customer" is missing.'],
    ["the body is a list", [], "", forShop, "The body must be of type object."],
    [
      "the consents are missing",
      { customer: {} },
      "/customer/consents",
      "Please accept the privacy policy.",
      '"customer.consents" is missing.',
    ],
    [
      "the privacy version is missing",
      { customer: { consents: { privacy: {} } } },
      "/customer/consents/privacy/version",
      "Please accept the privacy policy.",
      '"customer.consents.privacy.version" is missing.',
    ],
    [
      "the privacy version is blank",
      signUp({ consents: { privacy: { version: " " } } }),
      "/customer/consents/privacy/version",
      "Please accept the privacy policy.",
      '"customer.consents.privacy.version" must not be blank.',
    ],
    [
      "the marketing consent is no object",
      signUp({ consents: { privacy: { version: "1" }, marketing: true } }),
      "/customer/consents/marketing",
      "Please choose whether you want news and offers.",
      '"customer.consents.marketing" must be of type object.',
    ],
    [
      "the phone is a number",
      signUp({ phone: 48600100200 }),
      "/customer/phone",
      "The phone number is not valid.",
      '"customer.phone" must be of type string.',
    ],
    [
      "the e-mail is null",
      signUp({ email: null }),
      "/customer/email",
      "The e-mail address is not valid.",
      '"customer.email" must be of type string.',
    ],
    [
      "the name is a list",
      signUp({ name: [] }),
      "/customer/name",
      "The name is not valid.",
      '"customer.name" must be of type string.',
    ],
    [
      "a value is an object",
      signUp({}, { firstName: {} }),
      "/fieldValues/firstName",
      'Please enter text or a number for "First name".',
      '"fieldValues.firstName" must be of type string or number.',
    ],
  ];

  it.each(shapes)("says so to a person, and the rule to a developer, when %s", async (...row) => {
    const [, body, pointer, detail, rule] = row;
    const answer = await openShop().issue(body);
    expect(answer).toMatchObject({ status: 422, body: { detail, errors: [{ pointer, detail, rule }] } });
  });

  it("says each sentence once", async () => {
    const { body } = await openShop().issue({ fieldValues: [], customer: [] });
    expect(body.detail).toBe(forShop);
  });

  it("says so to a person when a consent is set to what is no boolean", async () => {
    const { call, issue } = openShop();
    const { body: card } = await issue();
    const { status, body } = await call("PUT", `/api/v1/passes/${card.id}/consent`, {
      body: { marketing: "yes" },
    });
    expect([status, body.detail]).toEqual([422, "Please choose whether you want news and offers."]);
    expect(body.errors).toMatchObject([
      { pointer: "/marketing", rule: '"marketing" must be of type boolean.' },
    ]);
  });

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
    const detail = 'Please enter a smaller number for "x".';
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: "/fieldValues/x", detail }] } });
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

  it.each([
    ["müller@bücher.example", "Müller@BÜCHER.example"],
    ["anna@bücher.example", "anna@xn--bcher-kva.example"],
    ["anna@XN--BCHER-KVA.example", "Anna@bücher.EXAMPLE"],
    ["用户@例子.广告", "用户@例子.广告"],
    ["ŁUKASZ@zażółć.example", "łukasz@ZAŻÓŁĆ.example"],
    ["jose\u0301@example.com", "JOS\u00c9@example.com"],
  ])("is found by the e-mail %s as %s", async (first, again) => {
    const { issue } = openShop();
    const anna = await customerOf(issue, { email: first });
    expect(await customerOf(issue, { email: again })).toBe(anna);
    expect(await customerOf(issue, { email: `x${again}` })).not.toBe(anna);
  });

  it.each([
    "ü",
    "ü@",
    "@bücher.example",
    "a@bücher",
    "a@@bücher.example",
    "a b@bücher.example",
    "a\u00a0b@example.com",
    "a\u0000@example.com",
    "a\ud800@example.com",
    "a@-bücher.example",
    "a@bücher..example",
    "a@bücher.example/path",
    "a@bü cher.example",
    "a@bücher:80.example",
    `a@${"ü".repeat(64)}.example`,
    `${"ü".repeat(255)}@example.com`,
  ])("is not identified by the malformed e-mail %j", async (email) => {
    const { status, body } = await openShop().issue(signUp({ email }));
    expect([status, body.detail]).toEqual([422, "The e-mail address is not valid."]);
  });

  it("is found by phone and e-mail with spaces around them, and kept without spaces", async () => {
    const { service, call, issue } = openShop();
    const { body } = await issue({
      fieldValues: { firstName: "  Anna ", note: "\ttwo words\n", points: 1 },
      customer: {
        phone: " +48600100200\t",
        email: "\n anna@example.com ",
        name: "  Anna Kowalska ",
        consents: { privacy: { version: " 2026-01 " }, marketing: { version: " m1 " } },
      },
    });
    expect(body.fieldValues).toEqual({ firstName: "Anna", note: "two words", points: 0 });
    expect((await call("GET", `/api/v1/passes/${body.id}/consent`)).body.customer).toMatchObject({
      phone: "+48600100200",
      email: "anna@example.com",
      name: "Anna Kowalska",
    });
    const { customers } = service.snapshot().state as { customers: Map<string, object> };
    expect([...customers.values()]).toMatchObject([
      { privacyVersion: "2026-01", marketing: { isGiven: true, version: "m1" } },
    ]);
    expect(await customerOf(issue, { email: "anna@example.com" })).toBe(body.customerId);
    expect(await customerOf(issue, { phone: "600100200" })).toBe(body.customerId);
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

/**
 * Issuing a card: the rules of spec 4.1, how customers are matched, their marketing consent, every
 * 422 (spec 4.5), and warnings for unknown fields.
 */

import {
  caller,
  noon,
  openMockShop,
  receiver,
  shopTemplate,
  toSignUp,
} from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";
import { createMockService, manualClock } from "../src/index.ts";
import { getWarnings } from "./shop.ts";

describe("a newly issued card", () => {
  it("is active, empty, without a tier, and issued via the website", async () => {
    const { service, issue } = openMockShop();
    const { status, body } = await issue(
      toSignUp({ phone: "+48600100200" }, { firstName: "Anna", city: "Praga" }),
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
    expect(body.publicUrl).not.toContain(body.id);
  });

  it("shows its balance in the points field, and ignores the value of the request", async () => {
    const { body } = await openMockShop().issue(toSignUp({}, { firstName: "Anna", points: 500 }));
    expect([body.loyaltyBalance, body.fieldValues.points]).toEqual([0, 0]);
  });

  it("is issued via the API under a Full key", async () => {
    const { service, call } = openMockShop();
    const path = `/api/v1/templates/${shopTemplate.id}/passes`;
    const { body } = await call("POST", path, { body: toSignUp(), key: service.apiKeys.full });
    expect(body.issuedVia).toBe("api");
  });
});

it("responds the same 404 for an archived and for an unknown template", async () => {
  const { service, call, issue } = openMockShop();
  const unknown = await call("POST", "/api/v1/templates/tpl_none/passes", { body: toSignUp() });
  expect(unknown.status).toBe(404);
  service.templates.archive(shopTemplate.id);
  expect((await issue()).body).toEqual(unknown.body);
});

describe("the customer", () => {
  /** @returns the id of the customer whose card it is. */
  function openWithCustomers(options: Parameters<typeof openMockShop>[0] = {}) {
    const shop = openMockShop(options);
    const identify = async (contact: Record<string, string>): Promise<string> => {
      const { status, body } = await shop.issue(toSignUp(contact));
      expect(status).toBe(201);
      return body.customerId;
    };
    return { ...shop, identify };
  }

  it("is found by phone, in any notation", async () => {
    const { identify } = openWithCustomers();
    const anna = await identify({ phone: "+48600100200" });
    for (const phone of ["600100200", "600 100 200", "0048 600-100-200", "+48 (600) 100 200"]) {
      expect(await identify({ phone })).toBe(anna);
    }
    expect(await identify({ phone: "+48600100201" })).not.toBe(anna);
  });

  it("is found by a local number of the default country", async () => {
    const { identify } = openWithCustomers({ defaultCountry: "DE" });
    const anna = await identify({ phone: "030 901820" });
    expect(await identify({ phone: "+4930901820" })).toBe(anna);
  });

  it.each([
    ["Anna@Example.com", "anna@example.COM"],
    ["müller@bücher.example", "Müller@BÜCHER.example"],
    ["anna@bücher.example", "anna@xn--bcher-kva.example"],
    ["anna@XN--BCHER-KVA.example", "Anna@bücher.EXAMPLE"],
    ["用户@例子.广告", "用户@例子.广告"],
    ["ŁUKASZ@zażółć.example", "łukasz@ZAŻÓŁĆ.example"],
    ["jose\u0301@example.com", "JOS\u00c9@example.com"],
  ])("is found by the email %s as %s", async (first, again) => {
    const { identify } = openWithCustomers();
    const anna = await identify({ email: first });
    expect(await identify({ email: again })).toBe(anna);
    expect(await identify({ email: `x${again}` })).not.toBe(anna);
  });

  it.each([
    ..."ü ü@ @bücher.example a@bücher a@@bücher.example a@-bücher.example a@bücher..example".split(
      " ",
    ),
    ..."a@bücher.example/path a@bücher:80.example a\u0000@example.com a\ud800@example.com".split(
      " ",
    ),
    "a b@bücher.example",
    "a\u00a0b@example.com",
    "a@bü cher.example",
    `a@${"ü".repeat(64)}.example`,
    `${"ü".repeat(255)}@example.com`,
  ])("is not identified by the malformed email %j", async (email) => {
    const { status, body } = await openMockShop().issue(toSignUp({ email }));
    expect([status, body.detail]).toEqual([422, "The email address is not valid."]);
  });

  it("is found by phone and email with surrounding spaces, and stored without them", async () => {
    const { service, call, issue, identify } = openWithCustomers();
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
    expect(await identify({ email: "anna@example.com" })).toBe(body.customerId);
    expect(await identify({ phone: "600100200" })).toBe(body.customerId);
  });

  it("is the one matched by phone, and by email when no phone matches", async () => {
    const { identify } = openWithCustomers();
    const byPhone = await identify({ phone: "+48600100200" });
    const byEmail = await identify({ email: "anna@example.com" });
    expect(byPhone).not.toBe(byEmail);
    expect(await identify({ phone: "+48600100200", email: "anna@example.com" })).toBe(byPhone);
    const other = { phone: "+48600100201", email: "anna@example.com" };
    expect(await identify(other)).toBe(byEmail);
  });

  it("gets missing members from a later sign-up, and keeps the others", async () => {
    const { issue, identify, call } = openWithCustomers();
    await identify({ phone: "+48600100200", name: "Anna" });
    const { body } = await issue(
      toSignUp({ phone: "+48600100200", email: "anna@example.com", name: "Other" }),
    );
    await identify({ phone: "+48600100200", email: "new@example.com" });
    const consent = await call("GET", `/api/v1/passes/${body.id}/consent`);
    expect(consent.body.customer).toMatchObject({
      phone: "+48600100200",
      email: "anna@example.com",
      name: "Anna",
    });
  });

  it("is always a new one without phone and email", async () => {
    const { identify } = openWithCustomers();
    expect(await identify({})).not.toBe(await identify({}));
  });
});

it("issues from the seeded template without field values", async () => {
  const service = createMockService({ clock: manualClock(noon) });
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  const path = `/api/v1/templates/${service.templateId}/passes`;
  const { status, body } = await call("POST", path, { body: toSignUp({}, {}) });
  expect([status, body.fieldValues]).toEqual([201, { points: 0 }]);
});

function shopListening() {
  const inbox = receiver();
  const shop = openMockShop({ deliver: inbox.deliver });
  inbox.subscribe(shop.service, ["consent.changed"]);
  const getConsent = async (id: string) =>
    (await shop.call("GET", `/api/v1/passes/${id}/consent`)).body.marketingConsent;
  const setConsent = (id: string, body: unknown) =>
    shop.call("PUT", `/api/v1/passes/${id}/consent`, { body });
  return { ...shop, inbox, getConsent, setConsent };
}

it.each([{ version: "m1" }, {}, { marketing: false }, { marketing: "maybe" }])(
  "records the marketing consent %j of a sign-up, and emits consent.changed",
  async (marketing) => {
    const { issue, getConsent, service, inbox } = shopListening();
    const { body } = await issue(toSignUp({ consents: { privacy: { version: "1" }, marketing } }));
    await service.idle();
    expect(await getConsent(body.id)).toBe(true);
    expect(inbox.events).toMatchObject([
      { data: { customerId: body.customerId, marketingConsent: true, passIds: [body.id] } },
    ]);
  },
);

it("keeps the marketing consent when a later sign-up has none", async () => {
  const { issue, getConsent } = shopListening();
  const phone = "+48600100200";
  await issue(
    toSignUp({ phone, consents: { privacy: { version: "1" }, marketing: { version: "m1" } } }),
  );
  const { body } = await issue(toSignUp({ phone }));
  expect(await getConsent(body.id)).toBe(true);
});

describe("a change of the consent", () => {
  it("responds with the new state, and emits consent.changed with all cards of the customer", async () => {
    const { issue, setConsent, service, inbox } = shopListening();
    const phone = "+48600100200";
    const cards = [
      (await issue(toSignUp({ phone }))).body,
      (await issue(toSignUp({ phone }))).body,
    ];
    const response = await setConsent(cards[0].id, { marketing: true, version: "m1" });
    expect(response).toMatchObject({
      status: 200,
      body: { marketingConsent: true, customer: { id: cards[0].customerId } },
    });
    await setConsent(cards[1].id, { marketing: false });
    await service.idle();
    const passIds = cards.map(({ id }) => id);
    expect(inbox.events.map(({ data }) => data)).toEqual([
      { customerId: cards[0].customerId, marketingConsent: true, passIds },
      { customerId: cards[0].customerId, marketingConsent: false, passIds },
    ]);
  });

  it("emits nothing when the consent does not change; without an opt-in it is false", async () => {
    const { issue, getConsent, setConsent, service, inbox } = shopListening();
    const { body } = await issue();
    expect(await getConsent(body.id)).toBe(false);
    expect((await setConsent(body.id, { marketing: false })).status).toBe(200);
    await service.idle();
    expect(inbox.events).toEqual([]);
  });

  it("of the wrong shape is 422", async () => {
    const { issue, setConsent } = shopListening();
    const { body } = await issue();
    const wrong = [{}, { marketing: 1 }, { marketing: "true" }, { marketing: null }, []];
    for (const change of [...wrong, { marketing: true, version: 1 }])
      expect([change, (await setConsent(body.id, change)).status]).toEqual([change, 422]);
  });
});

describe("a 422", () => {
  const forShop = "This form does not work at the moment. Please contact the shop.";
  const phone = "The phone number is not valid.";
  const email = "The email address is not valid.";
  const privacy = "Please accept the privacy policy.";
  const withFields = (fieldValues: object) => toSignUp({}, fieldValues);
  const consents = (privacy: object, more = {}) => toSignUp({ consents: { privacy, ...more } });

  const firstName = "/fieldValues/firstName";
  const version = "/customer/consents/privacy/version";
  const isNoText = (member: string) => `"customer.${member}" must be of type string.`;
  it.each<[name: string, body: unknown, pointer: string, detail: string, rule?: string]>([
    ["a required field is missing", withFields({}), firstName, "First name is required."],
    ["one is blank", withFields({ firstName: " " }), firstName, "First name is required."],
    [
      "a number field holds text",
      withFields({ firstName: "A", points: "7" }),
      "/fieldValues/points",
      'Please enter a number for "points".',
    ],
    [
      "text is a number",
      withFields({ firstName: 7 }),
      firstName,
      'Please enter text for "First name".',
    ],
    [
      "a value is an object",
      withFields({ firstName: {} }),
      firstName,
      'Please enter text or a number for "First name".',
      '"fieldValues.firstName" must be of type string or number.',
    ],
    ["the phone is malformed", toSignUp({ phone: "12" }), "/customer/phone", phone],
    ["the phone is blank", toSignUp({ phone: " " }), "/customer/phone", phone],
    ["the email is empty", toSignUp({ email: "" }), "/customer/email", email],
    [
      "the phone is in a sentence",
      toSignUp({ phone: "call +48600100200" }),
      "/customer/phone",
      phone,
    ],
    [
      "the phone is a number",
      toSignUp({ phone: 48600100200 }),
      "/customer/phone",
      phone,
      isNoText("phone"),
    ],
    ["the email is malformed", toSignUp({ email: "anna@" }), "/customer/email", email],
    [
      "it is too long",
      toSignUp({ email: `${"a".repeat(250)}@example.com` }),
      "/customer/email",
      email,
    ],
    ["the email is null", toSignUp({ email: null }), "/customer/email", email, isNoText("email")],
    [
      "the name is a list",
      toSignUp({ name: [] }),
      "/customer/name",
      "The name is not valid.",
      isNoText("name"),
    ],
    ["the customer is missing", {}, "/customer", forShop, '"customer" is missing.'],
    ["the body is a list", [], "", forShop, "The body must be of type object."],
    [
      "the consents are missing",
      { customer: {} },
      "/customer/consents",
      privacy,
      '"customer.consents" is missing.',
    ],
    [
      "the privacy version is missing",
      consents({}),
      version,
      privacy,
      '"customer.consents.privacy.version" is missing.',
    ],
    [
      "the privacy version is blank",
      consents({ version: " " }),
      version,
      privacy,
      '"customer.consents.privacy.version" must not be blank.',
    ],
    [
      "the marketing consent is not an object",
      consents({ version: "1" }, { marketing: true }),
      "/customer/consents/marketing",
      "Please choose whether you want news and offers.",
      '"customer.consents.marketing" must be of type object.',
    ],
  ])("has a sentence for a person, and a rule for a developer, when %s", async (...row) => {
    const [, body, pointer, detail, rule] = row;
    const response = await openMockShop().issue(body);
    const error = { pointer, detail, ...(rule && { rule }) };
    expect(response).toMatchObject({ status: 422, body: { detail, errors: [error] } });
  });

  it("names the first hundred wrong values of thousands", async () => {
    const { issue } = openMockShop();
    for (const wrong of ["null", "1e400"]) {
      const values = Array.from({ length: 5_000 }, (_, index) => `"key${index}":${wrong}`).join();
      const sent = JSON.stringify(toSignUp({}, { firstName: "A", x: "?" }));
      const { status, body } = await issue(sent.replace('"x":"?"', values));
      expect([status, body.errors.length]).toEqual([422, 100]);
    }
  });

  it("contains each sentence once", async () => {
    const { body } = await openMockShop().issue({ fieldValues: [], customer: [] });
    expect(body.detail).toBe(forShop);
  });

  it("has a sentence for a person when a consent is not a boolean", async () => {
    const { call, issue } = openMockShop();
    const { body: card } = await issue();
    const { status, body } = await call("PUT", `/api/v1/passes/${card.id}/consent`, {
      body: { marketing: "yes" },
    });
    expect([status, body.detail]).toEqual([422, "Please choose whether you want news and offers."]);
    expect(body.errors).toMatchObject([
      { pointer: "/marketing", rule: '"marketing" must be of type boolean.' },
    ]);
  });

  it("names all errors at once, without the values of the user, and nothing is created", async () => {
    const { service, issue } = openMockShop();
    const before = service.snapshot();
    const { body } = await issue(toSignUp({ phone: "4242-secret", email: "secret@" }, {}));
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(body.detail).toBe(
      "First name is required. The phone number is not valid. The email address is not valid.",
    );
    expect(service.snapshot()).toEqual(before);
  });

  it("is the response to a number beyond the range of JavaScript", async () => {
    const body = JSON.stringify(withFields({ firstName: "A", x: "?" })).replace('"?"', "1e400");
    const error = { pointer: "/fieldValues/x", detail: 'Please enter a smaller number for "x".' };
    expect(await openMockShop().issue(body)).toMatchObject({
      status: 422,
      body: { errors: [error] },
    });
  });

  it("names a missing field whose key is a member of Object.prototype", async () => {
    const { service, call } = openMockShop();
    const fields = [{ key: "constructor", type: "text" as const, required: true }];
    service.templates.create({ id: "tpl_odd", name: "Odd", fields });
    const response = await call("POST", "/api/v1/templates/tpl_odd/passes", {
      body: toSignUp({}, {}),
    });
    expect(response.status).toBe(422);
  });
});

describe("a field key that the template does not have", () => {
  it("is warned of with the key that was probably meant, and the card is issued", async () => {
    const { service, lines, issue } = openMockShop();
    const { status } = await issue(toSignUp({}, { firstName: "Anna", piont: 7, ponits: 8 }));
    expect(status).toBe(201);
    expect(getWarnings(service)).toEqual([
      {
        type: "unknown-fields",
        message:
          'fieldValues has keys that template tpl_club does not have: "piont" (did you mean "points"?), "ponits" (did you mean "points"?). Its fields are "firstName", "points".',
        fields: ["piont", "ponits"],
      },
    ]);
    expect(lines).toEqual([`warning: ${getWarnings(service)[0]?.message}`]);
  });

  it("is warned of when it is a member of the request, the customer or the consents", async () => {
    const { service, issue } = openMockShop();
    await issue({
      customer: {
        emial: "anna@example.com",
        consents: { privacy: { version: "1" }, marketting: {} },
      },
      feildValues: {},
    });
    expect(getWarnings(service).map(({ type, message }) => [type, message])).toEqual([
      [
        "unknown-members",
        'The request has members that the service ignores: "feildValues" (did you mean "fieldValues"?).',
      ],
      [
        "unknown-members",
        'customer has members that the service ignores: "emial" (did you mean "email"?).',
      ],
      [
        "unknown-members",
        'customer.consents has members that the service ignores: "marketting" (did you mean "marketing"?).',
      ],
    ]);
  });

  it("is warned of for a swap of two letters, another case and a separator, and without a guess for another word", async () => {
    const { service, lines, call, issue } = openMockShop();
    service.templates.create({
      id: "tpl_name",
      name: "Name",
      fields: [{ key: "name", type: "name" }],
    });
    for (const wrong of ["nmae", "Name", "na_me", "names"]) {
      await call("POST", "/api/v1/templates/tpl_name/passes", {
        body: toSignUp({}, { [wrong]: "Anna" }),
      });
      expect(lines.pop()).toContain(`"${wrong}" (did you mean "name"?)`);
    }
    await issue(toSignUp({}, { firstName: "Anna", birthday: "1 May" }));
    expect(lines.pop()).toContain('does not have: "birthday". Its fields are');
  });

  it("is warned of when a required field is missing for it", async () => {
    const { lines, issue } = openMockShop();
    expect((await issue(toSignUp({}, { fistName: "Anna" }))).status).toBe(422);
    expect(lines).toEqual([expect.stringContaining('"fistName" (did you mean "firstName"?)')]);
  });

  it("is not warned of when the template has all keys", async () => {
    const { service, lines, issue } = openMockShop();
    await issue(toSignUp({}, { firstName: "Anna", points: 1 }));
    await issue(toSignUp());
    expect([getWarnings(service), lines]).toEqual([[], []]);
  });

  it("is named without its value, on one line, and cut when it is long", async () => {
    const { service, lines, issue } = openMockShop();
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`k${index}`, "Secret"]),
    );
    const keys = { "a\nwarning: forged": "Secret", ["x".repeat(5_000)]: "Secret", ...many };
    await issue(toSignUp({}, { firstName: "Secret", ...keys }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/Secret|\n/);
    expect(lines[0]).toContain("and 22 more");
    expect(lines[0]?.length).toBeLessThan(600);
    expect(getWarnings(service)[0]?.fields).toHaveLength(10);
  });
});

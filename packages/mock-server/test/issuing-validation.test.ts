/** Invalid requests of issueCard: every 422, with a sentence for a person and a rule (spec 4.5); and warnings for unknown fields. */
import { describe, expect, it } from "vitest";
import { openShop, signUp, warningsOf } from "./shop.ts";

it("names the first hundred wrong values of a request that has thousands", async () => {
  const { issue } = openShop();
  const fieldValues = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key${index}`, null]));
  const { status, body } = await issue(signUp({}, fieldValues));
  expect(status).toBe(422);
  expect(body.errors).toHaveLength(100);
});

describe("a 422", () => {
  const forShop = "This form does not work at the moment. Please contact the shop.";
  const phone = "The phone number is not valid.";
  const email = "The email address is not valid.";
  const privacy = "Please accept the privacy policy.";
  const withFields = (fieldValues: object) => signUp({}, fieldValues);
  const consents = (privacy: object, more = {}) => signUp({ consents: { privacy, ...more } });

  const firstName = "/fieldValues/firstName";
  const version = "/customer/consents/privacy/version";
  const isNoText = (member: string) => `"customer.${member}" must be of type string.`;
  it.each<[name: string, body: unknown, pointer: string, detail: string, rule?: string]>([
    ["a required field is missing", withFields({}), firstName, 'Please fill in "First name".'],
    ["one is blank", withFields({ firstName: " " }), firstName, 'Please fill in "First name".'],
    [
      "a number field holds text",
      withFields({ firstName: "A", points: "7" }),
      "/fieldValues/points",
      'Please enter a number for "points".',
    ],
    ["text is a number", withFields({ firstName: 7 }), firstName, 'Please enter text for "First name".'],
    [
      "a value is an object",
      withFields({ firstName: {} }),
      firstName,
      'Please enter text or a number for "First name".',
      '"fieldValues.firstName" must be of type string or number.',
    ],
    ["the phone is malformed", signUp({ phone: "12" }), "/customer/phone", phone],
    ["the phone is in a sentence", signUp({ phone: "call +48600100200" }), "/customer/phone", phone],
    ["the phone is a number", signUp({ phone: 48600100200 }), "/customer/phone", phone, isNoText("phone")],
    ["the email is malformed", signUp({ email: "anna@" }), "/customer/email", email],
    ["it is too long", signUp({ email: `${"a".repeat(250)}@example.com` }), "/customer/email", email],
    ["the email is null", signUp({ email: null }), "/customer/email", email, isNoText("email")],
    [
      "the name is a list",
      signUp({ name: [] }),
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
    const response = await openShop().issue(body);
    const error = { pointer, detail, ...(rule && { rule }) };
    expect(response).toMatchObject({ status: 422, body: { detail, errors: [error] } });
  });

  it("contains each sentence once", async () => {
    const { body } = await openShop().issue({ fieldValues: [], customer: [] });
    expect(body.detail).toBe(forShop);
  });

  it("has a sentence for a person when a consent is not a boolean", async () => {
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

  it("names all errors at once, without the values of the user, and nothing is created", async () => {
    const { service, issue } = openShop();
    const before = service.snapshot();
    const { body } = await issue(signUp({ phone: "4242-secret", email: "secret@" }, {}));
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(body.detail).toBe(
      'Please fill in "First name". The phone number is not valid. The email address is not valid.',
    );
    expect(service.snapshot()).toEqual(before);
  });

  it("is the response to a number beyond the range of JavaScript", async () => {
    const body = JSON.stringify(withFields({ firstName: "A", x: "?" })).replace('"?"', "1e400");
    const error = { pointer: "/fieldValues/x", detail: 'Please enter a smaller number for "x".' };
    expect(await openShop().issue(body)).toMatchObject({ status: 422, body: { errors: [error] } });
  });

  it("names a missing field whose key is a member of Object.prototype", async () => {
    const { service, call } = openShop();
    const fields = [{ key: "constructor", type: "text" as const, required: true }];
    service.templates.create({ id: "tpl_odd", name: "Odd", fields });
    const response = await call("POST", "/api/v1/templates/tpl_odd/passes", { body: signUp({}, {}) });
    expect(response.status).toBe(422);
  });
});

describe("a field key that the template does not have", () => {
  it("is warned of with the key that was probably meant, and the card is issued", async () => {
    const { service, lines, issue } = openShop();
    const { status } = await issue(signUp({}, { firstName: "Anna", piont: 7, ponits: 8 }));
    expect(status).toBe(201);
    expect(warningsOf(service)).toEqual([
      {
        type: "unknown-fields",
        message:
          'fieldValues has keys that template tpl_club does not have: "piont" (did you mean "points"?), "ponits" (did you mean "points"?). Its fields are "firstName", "points".',
        fields: ["piont", "ponits"],
      },
    ]);
    expect(lines).toEqual([`warning: ${warningsOf(service)[0]?.message}`]);
  });

  it("is warned of when it is a member of the request or of the customer", async () => {
    const { service, issue } = openShop();
    await issue({
      customer: { emial: "anna@example.com", consents: { privacy: { version: "1" } } },
      feildValues: {},
    });
    expect(warningsOf(service).map(({ type, message }) => [type, message])).toEqual([
      [
        "unknown-members",
        'The request has members that the service ignores: "feildValues" (did you mean "fieldValues"?).',
      ],
      ["unknown-members", 'customer has members that the service ignores: "emial" (did you mean "email"?).'],
    ]);
  });

  it("is warned of for a swap of two letters, another case and a separator, and without a guess for another word", async () => {
    const { service, lines, call, issue } = openShop();
    service.templates.create({ id: "tpl_name", name: "Name", fields: [{ key: "name", type: "name" }] });
    for (const wrong of ["nmae", "Name", "na_me", "names"]) {
      await call("POST", "/api/v1/templates/tpl_name/passes", { body: signUp({}, { [wrong]: "Anna" }) });
      expect(lines.pop()).toContain(`"${wrong}" (did you mean "name"?)`);
    }
    await issue(signUp({}, { firstName: "Anna", birthday: "1 May" }));
    expect(lines.pop()).toContain('does not have: "birthday". Its fields are');
  });

  it("is warned of when a required field is missing for it", async () => {
    const { lines, issue } = openShop();
    expect((await issue(signUp({}, { fistName: "Anna" }))).status).toBe(422);
    expect(lines).toEqual([expect.stringContaining('"fistName" (did you mean "firstName"?)')]);
  });

  it("is not warned of when the template has all keys", async () => {
    const { service, lines, issue } = openShop();
    await issue(signUp({}, { firstName: "Anna", points: 1 }));
    await issue(signUp());
    expect([warningsOf(service), lines]).toEqual([[], []]);
  });

  it("is named without its value, on one line, and cut when it is long", async () => {
    const { service, lines, issue } = openShop();
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, "Secret"]));
    const keys = { "a\nwarning: forged": "Secret", ["x".repeat(5_000)]: "Secret", ...many };
    await issue(signUp({}, { firstName: "Secret", ...keys }));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/Secret|\n/);
    expect(lines[0]).toContain("and 22 more");
    expect(lines[0]?.length).toBeLessThan(600);
    expect(warningsOf(service)[0]?.fields).toHaveLength(10);
  });
});

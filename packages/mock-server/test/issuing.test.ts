/** Issuing a card: the rules of spec 4.1, and how customers are matched. */
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
    expect(body.publicUrl).not.toContain(body.id);
  });

  it("shows its balance in the points field, and ignores the value of the request", async () => {
    const { body } = await openShop().issue(signUp({}, { firstName: "Anna", points: 500 }));
    expect([body.loyaltyBalance, body.fieldValues.points]).toEqual([0, 0]);
  });

  it("is issued via the API under a Full key", async () => {
    const { service, call } = openShop();
    const path = `/api/v1/templates/${template.id}/passes`;
    const { body } = await call("POST", path, { body: signUp(), key: service.apiKeys.full });
    expect(body.issuedVia).toBe("api");
  });
});

it("responds the same 404 for an archived and for an unknown template", async () => {
  const { service, call, issue } = openShop();
  const unknown = await call("POST", "/api/v1/templates/tpl_none/passes", { body: signUp() });
  expect(unknown.status).toBe(404);
  service.templates.archive(template.id);
  expect((await issue()).body).toEqual(unknown.body);
});

describe("the customer", () => {
  async function issueForCustomer(
    issue: ReturnType<typeof openShop>["issue"],
    contact: Record<string, string>,
  ) {
    const { status, body } = await issue(signUp(contact));
    expect(status).toBe(201);
    return body.customerId as string;
  }

  it("is found by phone, in any notation", async () => {
    const { issue } = openShop();
    const anna = await issueForCustomer(issue, { phone: "+48600100200" });
    for (const phone of ["600100200", "600 100 200", "0048 600-100-200", "+48 (600) 100 200"]) {
      expect(await issueForCustomer(issue, { phone })).toBe(anna);
    }
    expect(await issueForCustomer(issue, { phone: "+48600100201" })).not.toBe(anna);
  });

  it("is found by a local number of the default country", async () => {
    const { issue } = openShop({ defaultCountry: "DE" });
    const anna = await issueForCustomer(issue, { phone: "030 901820" });
    expect(await issueForCustomer(issue, { phone: "+4930901820" })).toBe(anna);
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
    const { issue } = openShop();
    const anna = await issueForCustomer(issue, { email: first });
    expect(await issueForCustomer(issue, { email: again })).toBe(anna);
    expect(await issueForCustomer(issue, { email: `x${again}` })).not.toBe(anna);
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
  ])("is not identified by the malformed email %j", async (email) => {
    const { status, body } = await openShop().issue(signUp({ email }));
    expect([status, body.detail]).toEqual([422, "The email address is not valid."]);
  });

  it("is found by phone and email with surrounding spaces, and stored without them", async () => {
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
    expect(await issueForCustomer(issue, { email: "anna@example.com" })).toBe(body.customerId);
    expect(await issueForCustomer(issue, { phone: "600100200" })).toBe(body.customerId);
  });

  it("is the one matched by phone, and by email when no phone matches", async () => {
    const { issue } = openShop();
    const byPhone = await issueForCustomer(issue, { phone: "+48600100200" });
    const byEmail = await issueForCustomer(issue, { email: "anna@example.com" });
    expect(byPhone).not.toBe(byEmail);
    expect(await issueForCustomer(issue, { phone: "+48600100200", email: "anna@example.com" })).toBe(byPhone);
    const other = { phone: "+48600100201", email: "anna@example.com" };
    expect(await issueForCustomer(issue, other)).toBe(byEmail);
  });

  it("gets missing members from a later sign-up, and keeps the others", async () => {
    const { issue, call } = openShop();
    await issueForCustomer(issue, { phone: "+48600100200", name: "Anna" });
    const { body } = await issue(signUp({ phone: "+48600100200", email: "anna@example.com", name: "Other" }));
    await issueForCustomer(issue, { phone: "+48600100200", email: "new@example.com" });
    const consent = await call("GET", `/api/v1/passes/${body.id}/consent`);
    expect(consent.body.customer).toMatchObject({
      phone: "+48600100200",
      email: "anna@example.com",
      name: "Anna",
    });
  });

  it("is always a new one without phone and email", async () => {
    const { issue } = openShop();
    expect(await issueForCustomer(issue, {})).not.toBe(await issueForCustomer(issue, {}));
  });
});

it("isolates two services", async () => {
  const [one, two] = [openShop(), openShop()];
  const { body } = await one.issue();
  expect((await two.call("GET", `/api/v1/passes/${body.id}`)).status).toBe(404);
});

it("issues from the seeded template without field values", async () => {
  const service = createMockService({ clock: manualClock(noon) });
  const call = caller(service.baseUrl, service.fetch, service.apiKeys.website);
  const path = `/api/v1/templates/${service.templateId}/passes`;
  const { status, body } = await call("POST", path, { body: signUp({}, {}) });
  expect([status, body.fieldValues]).toEqual([201, { points: 0 }]);
});

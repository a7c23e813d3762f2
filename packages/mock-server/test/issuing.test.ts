/** Issuing a card: the rules of spec 4.1, how customers are matched, and their marketing consent. */
import { describe, expect, it } from "vitest";
import { createMockService, manualClock } from "../src/index.ts";
import { caller, noon, openShop, receiver, signUp, template } from "./shop.ts";

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
  /** @returns the id of the customer whose card it is. */
  function openWithCustomers(options: Parameters<typeof openShop>[0] = {}) {
    const shop = openShop(options);
    const identify = async (contact: Record<string, string>): Promise<string> => {
      const { status, body } = await shop.issue(signUp(contact));
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
    ..."ü ü@ @bücher.example a@bücher a@@bücher.example a@-bücher.example a@bücher..example".split(" "),
    ..."a@bücher.example/path a@bücher:80.example a\u0000@example.com a\ud800@example.com".split(" "),
    ...["a b@bücher.example", "a\u00a0b@example.com", "a@bü cher.example"],
    ...[`a@${"ü".repeat(64)}.example`, `${"ü".repeat(255)}@example.com`],
  ])("is not identified by the malformed email %j", async (email) => {
    const { status, body } = await openShop().issue(signUp({ email }));
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
    const { body } = await issue(signUp({ phone: "+48600100200", email: "anna@example.com", name: "Other" }));
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
  const { status, body } = await call("POST", path, { body: signUp({}, {}) });
  expect([status, body.fieldValues]).toEqual([201, { points: 0 }]);
});

function shopListening() {
  const inbox = receiver();
  const shop = openShop({ deliver: inbox.deliver });
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
    const { body } = await issue(signUp({ consents: { privacy: { version: "1" }, marketing } }));
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
  await issue(signUp({ phone, consents: { privacy: { version: "1" }, marketing: { version: "m1" } } }));
  const { body } = await issue(signUp({ phone }));
  expect(await getConsent(body.id)).toBe(true);
});

describe("a change of the consent", () => {
  it("responds with the new state, and emits consent.changed with all cards of the customer", async () => {
    const { issue, setConsent, service, inbox } = shopListening();
    const phone = "+48600100200";
    const cards = [(await issue(signUp({ phone }))).body, (await issue(signUp({ phone }))).body];
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

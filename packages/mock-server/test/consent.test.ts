/** Marketing consent of a customer: given at sign-up, read, given and withdrawn later. */
import { describe, expect, it } from "vitest";
import { openShop, receiver, signUp } from "./shop.ts";

const optedIn = { consents: { privacy: { version: "1" }, marketing: { version: "m1" } } };

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

it("has no marketing consent unless the user opted in", async () => {
  const { issue, getConsent, service, inbox } = shopListening();
  const { body } = await issue();
  await service.idle();
  expect([await getConsent(body.id), inbox.events]).toEqual([false, []]);
});

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
  await issue(signUp({ phone, ...optedIn }));
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

  it("emits nothing when the consent does not change", async () => {
    const { issue, setConsent, service, inbox } = shopListening();
    const { body } = await issue();
    expect((await setConsent(body.id, { marketing: false })).status).toBe(200);
    await service.idle();
    expect(inbox.events).toEqual([]);
  });

  it("of the wrong shape is 422", async () => {
    const { issue, setConsent } = shopListening();
    const { body } = await issue();
    for (const change of [
      {},
      { marketing: 1 },
      { marketing: "true" },
      { marketing: null },
      { marketing: true, version: 1 },
      [],
    ])
      expect([change, (await setConsent(body.id, change)).status]).toEqual([change, 422]);
  });
});

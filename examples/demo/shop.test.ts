/** The demo's shop over real HTTP, with the mock service. */
import type { Card, CardLinks } from "@loyalty-cards/issuing-client";
import { manualClock } from "@loyalty-cards/mock-server";
import { type MockServer, type MockServerOptions, startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "./listen.ts";
import { createShop } from "./shop.ts";
import { createUsers } from "./users.ts";

type SignUpResponse = { userId: string; message: string; card: Card; links: CardLinks };

async function openMock(options: MockServerOptions = {}): Promise<MockServer> {
  const mock = await startMockServer({
    ...options,
    templates: [{ id: "tpl_club", name: "Club", fields: [{ key: "name", type: "name", required: true }] }],
  });
  onTestFinished(mock.close);
  return mock;
}

async function openShop(options: MockServerOptions = {}) {
  return openShopWith(await openMock(options));
}

/** A shop whose user table is empty. */
async function openShopWith(mock: MockServer) {
  const users = createUsers();
  const settings = { baseUrl: mock.url, apiKey: mock.service.apiKeys.website, templateId: "tpl_club" };
  const shop = await listen(createShop({ ...settings, signingSecret: "whsec_demo" }, users));
  onTestFinished(shop.close);
  const send = async (form: Record<string, string>) => {
    const response = await fetch(`${shop.url}/sign-up`, { method: "POST", body: new URLSearchParams(form) });
    const text = await response.text();
    return {
      status: response.status,
      body: (response.ok || response.status === 422 ? JSON.parse(text) : {}) as SignUpResponse,
    };
  };
  return { mock, users, url: shop.url, send };
}

async function getCards({ url }: MockServer): Promise<unknown[]> {
  const response = await fetch(`${url}/_mock/cards`);
  return ((await response.json()) as { items: unknown[] }).items;
}

const anna = { name: "Anna", email: "anna@example.com", phone: "600100200" };

it("signs a user up once, with one card", async () => {
  const { send } = await openShop();
  const [first, second] = [await send(anna), await send(anna)];
  expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
  expect(first.body.links.addToFirstWallet).toBe(`${first.body.card.publicUrl}/pass.pkpass`);
});

it("returns the same card after the service has forgotten the key", async () => {
  const clock = manualClock();
  const { send } = await openShop({ clock });
  const first = await send(anna);
  clock.moveTo(clock.now() + 48 * 3_600_000);
  expect((await send(anna)).body.card.id).toBe(first.body.card.id);
});

it("issues separate cards to users with one phone number, and rejects an invalid e-mail address", async () => {
  const { send } = await openShop();
  const [bob, eve] = [
    await send({ ...anna, email: "bob@example.com" }),
    await send({ ...anna, email: "eve@example.com" }),
  ];
  expect(bob.body.card.id).not.toBe(eve.body.card.id);
  expect((await send({ name: "Carl", email: "carl" })).status).toBe(400);
});

it("shows the validation message of the service", async () => {
  const { send } = await openShop();
  expect(await send({ ...anna, phone: "12" })).toMatchObject({
    status: 422,
    body: { message: "The phone number is not valid." },
  });
});

it("signs up while the service cannot issue a card, and shows no internal message", async () => {
  const { mock, send } = await openShop();
  mock.service.templates.archive("tpl_club");
  const { status, body } = await send(anna);
  expect(status).toBe(202);
  expect(body.message).toBe("Your loyalty card is not available right now. Please try again later.");
});

it("issues separate cards after the user table was lost, and in another shop on the same service", async () => {
  const mock = await openMock();
  const cardIds = [];
  // The shop was started again, and its table was in memory; the third shop is staging.
  for (const name of ["Anna", "Ben", "Cleo"]) {
    const { send } = await openShopWith(mock);
    const { body } = await send({ name, email: `${name}@example.com`, phone: "" });
    expect(body.card.fieldValues).toMatchObject({ name });
    cardIds.push(body.card.id);
  }
  expect(new Set(cardIds).size).toBe(3);
  expect(mock.service.warnings()).toEqual([]);
});

it.each([
  { phone: "600100200", email: "" },
  { phone: "", email: "anna@example.com" },
  { phone: "", email: "" },
])("issues separate cards to two people whose forms have phone $phone and e-mail $email", async (contact) => {
  const { mock, send } = await openShop();
  const [first, second] = [
    await send({ name: "Anna", ...contact }),
    await send({
      name: "Ben",
      phone: contact.phone && "600100201",
      email: contact.email && "ben@example.com",
    }),
  ];
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.card.id).not.toBe(first.body.card.id);
  const response = await fetch(`${mock.url}/_mock/customers/${first.body.card.customerId}`);
  const { phone = "", email = "" } = (await response.json()) as { phone?: string; email?: string };
  expect({ phone, email }).toEqual({ ...contact, phone: contact.phone && "+48600100200" });
});

it("signs up while the service is down, and issues one card when the same visitor comes back", async () => {
  const { mock, send } = await openShop();
  // The worst case: the card is issued, and no response arrives.
  const { id } = mock.service.faults.add({ phase: "after-commit", kind: "status", status: 503 });
  const first = await send(anna);
  expect(first.status).toBe(202);
  mock.service.faults.remove(id);
  const second = await send(anna);
  expect([second.status, second.body.userId]).toEqual([201, first.body.userId]);
  expect(await getCards(mock)).toHaveLength(1);
});

it("has the balance of an event that arrives before the card's id is stored", async () => {
  const endpoint = { url: "http://127.0.0.1:1/", events: ["balance.changed"], secret: "whsec_demo" } as const;
  const { mock, users, url, send } = await openShop({ endpoints: [endpoint] });
  mock.service.webhooks.updateEndpoint(mock.service.endpoints[0]?.id ?? "", {
    url: `${url}/webhooks/loyalty`,
  });
  const { id } = mock.service.faults.add({ phase: "after-commit", kind: "status", status: 503 });
  await send(anna);
  const [card] = (await getCards(mock)) as { id: string }[];
  mock.service.cards.purchase(card?.id ?? "", { points: 120 });
  await mock.service.idle();
  mock.service.faults.remove(id);
  await send(anna);
  expect(users.all().map(({ cardId = "" }) => users.getBalance(cardId))).toEqual([120]);
});

it.each([true, false])(
  "issues one card to the corrected form; the service stores refusals: %s",
  async (storeRefusals) => {
    const { mock, send } = await openShop({ storeRefusals });
    expect((await send({ ...anna, phone: "12" })).status).toBe(422);
    const [corrected, again] = [await send(anna), await send(anna)];
    expect([corrected.status, again.body.card.id]).toEqual([201, corrected.body.card.id]);
    expect(await getCards(mock)).toHaveLength(1);
  },
);

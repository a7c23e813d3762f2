/** The shop of the examples, over real HTTP, with the mock service behind it. */
import type { Card, CardLinks } from "@loyalty-cards/issuing-client";
import { manualClock } from "@loyalty-cards/mock-server";
import { type MockServerOptions, startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "./listen.ts";
import { createShop } from "./shop.ts";
import { createUsers } from "./users.ts";

type SignUpAnswer = { userId: number; message: string; card: Card; links: CardLinks };

async function openShop(options: MockServerOptions = {}) {
  const mock = await startMockServer({
    ...options,
    templates: [{ id: "tpl_club", name: "Club", fields: [{ key: "name", type: "name", required: true }] }],
  });
  const users = createUsers();
  const settings = { baseUrl: mock.url, apiKey: mock.service.apiKeys.website, templateId: "tpl_club" };
  const shop = await listen(createShop({ ...settings, signingSecret: "whsec_demo" }, users));
  onTestFinished(async () => {
    await shop.close();
    await mock.close();
  });
  const send = async (form: Record<string, string>) => {
    const response = await fetch(`${shop.url}/sign-up`, { method: "POST", body: new URLSearchParams(form) });
    const text = await response.text();
    return {
      status: response.status,
      body: (response.ok || response.status === 422 ? JSON.parse(text) : {}) as SignUpAnswer,
    };
  };
  return { mock, users, send };
}

const anna = { name: "Anna", email: "anna@example.com", phone: "600100200" };

it("signs a user up once, with one card", async () => {
  const { send } = await openShop();
  const [first, second] = [await send(anna), await send(anna)];
  expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
  expect(first.body.links.addToFirstWallet).toBe(`${first.body.card.publicUrl}/pass.pkpass`);
});

it("gives the same card also long after the service has forgotten the key", async () => {
  const clock = manualClock();
  const { send } = await openShop({ clock });
  const first = await send(anna);
  clock.moveTo(clock.now() + 48 * 3_600_000);
  expect((await send(anna)).body.card.id).toBe(first.body.card.id);
});

it("gives nobody the card of somebody else", async () => {
  const { send } = await openShop();
  const [bob, eve] = [
    await send({ ...anna, email: "bob@example.com" }),
    await send({ ...anna, email: "eve@example.com" }),
  ];
  expect(bob.body.card.id).not.toBe(eve.body.card.id);
  expect((await send({ name: "Nobody" })).status).toBe(400);
});

it("shows what the service says about the form", async () => {
  const { send } = await openShop();
  expect(await send({ ...anna, phone: "12" })).toEqual({
    status: 422,
    body: { message: "The phone number is not valid." },
  });
});

it("signs up all the same when the service cannot issue, and shows nothing internal", async () => {
  const { mock, send } = await openShop();
  mock.service.templates.archive("tpl_club");
  const { status, body } = await send(anna);
  expect(status).toBe(202);
  expect(body.message).toBe("Your loyalty card is not available right now. Please try again later.");
});

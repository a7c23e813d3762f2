/** The shop over real HTTP, with the mock service. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CardLinks } from "@loyalty-cards/issuing-client";
import {
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished, vi } from "vitest";
import mockSettings from "./mock.json" with { type: "json" };
import { openShop } from "./shop.ts";

// While the service fails, a sign-up waits five seconds, and the card follows some seconds later.
vi.setConfig({ testTimeout: 60_000, expect: { poll: { timeout: 50_000 } } });

const seed = mockSettings as Required<
  Pick<MockServerOptions, "templates" | "endpoints">
>;

type Started = Awaited<ReturnType<typeof startMockServer>>;

async function open({
  mock: running,
  ...options
}: MockServerOptions & { mock?: Started } = {}) {
  let listener: RequestListener | undefined;
  const server = createServer((request, response) => listener?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = seed.endpoints.map((endpoint) => ({
    ...endpoint,
    url: `${url}/webhooks/loyalty`,
  }));
  const mock =
    running ?? (await startMockServer({ ...seed, ...options, endpoints }));
  const folder = mkdtempSync(join(tmpdir(), "example-express-"));
  const shop = await openShop({
    url: mock.url,
    key: mock.service.apiKeys.website,
    template: mock.service.templateId,
    secret: mock.service.endpoints[0]?.secret ?? "",
    file: join(folder, "shop.db"),
  });
  listener = shop.app;
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await shop.close();
    if (running === undefined) await mock.close();
    rmSync(folder, { recursive: true });
  });
  async function send(method: string, path: string, changes: object) {
    const body = JSON.stringify({
      name: "Anna",
      email: "anna@example.com",
      phone: "600100200",
      ...changes,
    });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method, headers, body });
    return {
      status: response.status,
      body: (await response.json()) as {
        userId: string;
        message?: string;
        links: CardLinks;
      },
    };
  }

  return {
    ...shop,
    mock,
    service: mock.service,
    read: (sql: string) =>
      shop.outbox.write((database) => database.prepare(sql).all()),
    signUp: (changes = {}) => send("POST", "/sign-up", changes),
    correct: (userId: string, changes = {}) =>
      send("PUT", `/users/${userId}`, changes),
  };
}

it("signs up and stores the balance of the events", async () => {
  const { signUp, read, service } = await open();
  const { status, body } = await signUp();
  expect(status).toBe(201);
  const [{ card }] = (await read("SELECT card FROM users")) as [{ card: string }];
  expect(body.links.page).toBe(service.cards.get(card).publicUrl);

  service.cards.purchase(card, { points: 120 });
  await service.idle(); // two events of one millisecond have no order
  service.cards.redeem(card, { points: 20 });
  await service.idle();
  await expect
    .poll(() => read("SELECT card, balance FROM balances"))
    .toMatchObject([{ card, balance: 100 }]);
});

// G27
it.each([true, false])(
  "keeps the user after a 422 and issues one card to the corrected form; the service stores refusals: %s",
  async (storeRefusals) => {
    const { signUp, correct, read, service } = await open({ storeRefusals });
    const refused = await signUp({ phone: "12" });
    expect(refused).toMatchObject({
      status: 422,
      body: { message: "The phone number is not valid." },
    });
    const { userId } = refused.body;
    expect(await read("SELECT id, card FROM users")).toMatchObject([
      { id: userId, card: null },
    ]);

    expect(await correct(userId)).toMatchObject({ status: 201, body: { userId } });
    expect((await correct(userId)).status).toBe(409);
    const [{ card }] = (await read("SELECT card FROM users")) as [{ card: string }];
    expect(service.cards.get(card).status).toBe("active");
  },
);

it.each([
  { phone: "600100200", email: "" },
  { phone: "", email: "anna@example.com" },
  { phone: "", email: "" },
])(
  "issues a card to two people whose forms have phone $phone and email $email",
  async ({ phone, email }) => {
    const { signUp, read } = await open();
    const ben = {
      name: "Ben",
      phone: phone && "600100201",
      email: email && "ben@example.com",
    };
    expect([
      (await signUp({ phone, email })).status,
      (await signUp(ben)).status,
    ]).toEqual([201, 201]);
    const cards = (await read("SELECT card FROM users")) as { card: string }[];
    expect(new Set(cards.map(({ card }) => card)).size).toBe(2);
  },
);

it("responds 409 to an address that is taken", async () => {
  const { signUp } = await open();
  expect([(await signUp()).status, (await signUp()).status]).toEqual([201, 409]);
});

// G10
it("signs up while the service fails and issues one card later, although the response to it is lost", async () => {
  const { signUp, read, mock, service } = await open();
  service.templates.archive(service.templateId);
  expect(await signUp()).toMatchObject({
    status: 202,
    body: { userId: expect.any(String) },
  });
  service.reset();
  // Now the card is issued and only the response is lost, so the same key must be sent again.
  service.faults.add({ phase: "after-commit", kind: "truncate", times: 1 });
  await expect
    .poll(() => read("SELECT card FROM users"))
    .toEqual([{ card: expect.any(String) }]);
  expect(service.faults.list()).toEqual([]);
  const response = await fetch(`${mock.url}/_mock/cards`);
  expect(await response.json()).toMatchObject({
    items: await read("SELECT card AS id FROM users"),
  });
});

it("has the balance of an event that arrives before the card's id is stored", async () => {
  const { signUp, read, mock, service } = await open();
  // The card is issued, and the shop gets no response.
  const { id } = service.faults.add({
    phase: "after-commit",
    kind: "status",
    status: 503,
  });
  expect((await signUp()).status).toBe(202);
  const response = await fetch(`${mock.url}/_mock/cards`);
  const { items } = (await response.json()) as { items: { id: string }[] };
  service.cards.purchase(items[0]?.id ?? "", { points: 120 });
  await service.idle();
  await expect
    .poll(() => read("SELECT balance FROM balances"))
    .toMatchObject([{ balance: 120 }]);
  service.faults.remove(id);
  await expect
    .poll(() => read("SELECT name, balance FROM users JOIN balances USING (card)"))
    .toEqual([{ name: "Anna", balance: 120 }]);
});

// G9
it("issues separate cards to people who join after the database was lost", async () => {
  const before = await open();
  await before.signUp();
  const after = await open({ mock: before.mock });
  await after.signUp({ name: "Ben", email: "ben@example.com", phone: "600100201" });
  const getCard = async ({ read, service }: typeof before) => {
    const [user] = (await read("SELECT card FROM users")) as { card: string }[];
    return service.cards.get(user?.card ?? "");
  };
  expect((await getCard(before)).fieldValues).toMatchObject({ name: "Anna" });
  expect((await getCard(after)).fieldValues).toMatchObject({ name: "Ben" });
});

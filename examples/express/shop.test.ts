/** The shop over real HTTP, with the mock service. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CardLinks, createIssuingClient } from "@loyalty-cards/issuing-client";
import {
  type MockServer,
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import { expect, it, onTestFinished, vi } from "vitest";
import mockSettings from "./mock.json" with { type: "json" };
import { openShop } from "./shop.ts";

// While the service fails, a sign-up waits five seconds, and the card follows some seconds later.
vi.setConfig({ testTimeout: 60_000, expect: { poll: { timeout: 50_000 } } });

const { templates, endpoints } = mockSettings as Required<
  Pick<MockServerOptions, "templates" | "endpoints">
>;

interface User {
  userId: string;
  message?: string;
  name: string;
  balance: number;
  marketing: number;
  links?: CardLinks;
}

async function open({
  mock: running,
  ...options
}: MockServerOptions & { mock?: MockServer } = {}) {
  let listener: RequestListener | undefined;
  const server = createServer((request, response) => listener?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = endpoints.map((endpoint) => ({
    ...endpoint,
    url: `${url}/webhooks/loyalty`,
  }));
  const mock =
    running ?? (await startMockServer({ templates, ...options, endpoints: own }));
  const { service } = mock;
  const folder = mkdtempSync(join(tmpdir(), "example-express-"));
  const client = createIssuingClient({
    baseUrl: mock.url,
    apiKey: service.apiKeys.website,
  });
  const shop = await openShop({
    client,
    template: service.templateId,
    secret: service.endpoints[0]?.secret ?? "",
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

  async function send(method: string, path: string, form?: object) {
    const body =
      form && JSON.stringify({ name: "Anna", phone: "600100200", ...form });
    const headers = { "content-type": "application/json" };
    const init = { method, headers, ...(body !== undefined && { body }) };
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, body: (await response.json()) as User };
  }
  return {
    mock,
    service,
    client,
    signUp: (form = {}) => send("POST", "/sign-up", form),
    correct: (userId: string, form = {}) => send("PUT", `/users/${userId}`, form),
    read: async (userId: string) => (await send("GET", `/users/${userId}`)).body,
    /** All cards of the service. */
    async readCards() {
      const response = await fetch(`${mock.url}/_mock/cards`);
      return (
        (await response.json()) as { items: { id: string; publicUrl: string }[] }
      ).items;
    },
  };
}

it("signs up, and shows the balance and the consent of the events", async () => {
  const { signUp, read, readCards, service, client } = await open();
  const { status, body } = await signUp({ marketing: true });
  expect(status).toBe(201);
  const [{ id, publicUrl }] = (await readCards()) as [
    { id: string; publicUrl: string },
  ];
  expect(body.links?.page).toBe(publicUrl);
  const user = { name: "Anna", links: body.links };
  expect(await read(body.userId)).toEqual({ ...user, balance: 0, marketing: 1 });
  expect(await client.getConsent(id)).toMatchObject({ marketingConsent: true });

  service.cards.purchase(id, { points: 120 });
  await service.idle(); // two events of one millisecond have no order
  service.cards.redeem(id, { points: 20 });
  await client.setConsent(id, { marketing: false });
  await expect
    .poll(() => read(body.userId))
    .toEqual({ ...user, balance: 100, marketing: 0 });
});

// G27
it.each([true, false])(
  "keeps the user after a 422 and issues one card to the corrected form; the service stores refusals: %s",
  async (storeRefusals) => {
    const { signUp, correct, read, readCards } = await open({ storeRefusals });
    const refused = await signUp({ phone: "12" });
    const message = "The phone number is not valid.";
    expect(refused).toMatchObject({ status: 422, body: { message } });
    const { userId } = refused.body;
    expect(await read(userId)).toMatchObject({ name: "Anna" });

    expect(await correct(userId)).toMatchObject({ status: 201, body: { userId } });
    expect((await correct(userId)).status).toBe(409);
    expect(await readCards()).toHaveLength(1);
  },
);

it.each([
  { phone: "600100200", email: "" },
  { phone: "", email: "anna@example.com" },
  { phone: "", email: "" },
])(
  "issues a card to two people whose forms have phone $phone and email $email",
  async ({ phone, email }) => {
    const { signUp, readCards } = await open();
    const ben = { phone: phone && "600100201", email: email && "ben@example.com" };
    const statuses = [await signUp({ phone, email }), await signUp(ben)];
    expect(statuses.map(({ status }) => status)).toEqual([201, 201]);
    expect(await readCards()).toHaveLength(2);
  },
);

it("responds 409 to an address that is taken", async () => {
  const { signUp } = await open();
  const anna = { email: "anna@example.com" };
  expect([(await signUp(anna)).status, (await signUp(anna)).status]).toEqual([
    201, 409,
  ]);
});

// G10
it("signs up while the service fails, and issues one card later, whose balance arrived before", async () => {
  const { signUp, read, readCards, service } = await open();
  // The worst failure: the card is issued, and the shop gets no response.
  const fault = { phase: "after-commit", kind: "status", status: 503 } as const;
  const { id } = service.faults.add(fault);
  const { status, body } = await signUp();
  expect(status).toBe(202);
  const [card] = await readCards();
  service.cards.purchase(card?.id ?? "", { points: 120 });
  await service.idle();
  service.faults.remove(id);
  await expect
    .poll(() => read(body.userId))
    .toMatchObject({ balance: 120, links: { page: card?.publicUrl } });
  expect(await readCards()).toHaveLength(1);
});

// G9
it("issues separate cards to people who join after the database was lost", async () => {
  const before = await open();
  await before.signUp();
  const after = await open({ mock: before.mock });
  await after.signUp({ name: "Ben", phone: "600100201" });
  expect(await after.readCards()).toMatchObject([
    { fieldValues: { name: "Ben" } },
    { fieldValues: { name: "Anna" } },
  ]);
});

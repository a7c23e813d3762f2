/** The client's examples in the guides, run against the mock service; and which requests MSW intercepts, as the guide "Testing" says. */
import { createServer } from "node:http";
import { connect } from "node:net";
import {
  createIssuingClient,
  type IssuingClientOptions,
} from "@loyalty-cards/issuing-client";
import { createMockService } from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import type { MockServerOptions } from "@loyalty-cards/mock-server/node";
import { listen } from "@loyalty-cards/testing/resources";
import { setupServer } from "msw/node";
import { fetch as undiciFetch, request as undiciRequest } from "undici";
import { expect, it, onTestFinished, vi } from "vitest";
import { coffeeClub, openService, outage } from "../../test/service.ts";
import {
  issueCardOrCorrect,
  showCard,
  toFieldMessages,
  type User,
} from "./client.ts";

const open = (options: MockServerOptions = {}) =>
  openService({ templates: [coffeeClub], ...options });

const anna = {
  fieldValues: { name: "Anna" },
  customer: { consents: { privacy: { version: "1" } } },
};

it("shows wallet buttons whose images and links exist", async () => {
  const { client } = await open();
  const card = await client.issueCard(coffeeClub.id, anna, { userId: 1 });
  const addresses = [
    ...showCard(card.publicUrl).matchAll(/(?:href|src)="([^"]+)"/g),
  ].map(([, address = ""]) => address);
  expect(addresses.slice(0, 2)).toEqual([
    `${card.publicUrl}/pass.pkpass`,
    expect.stringMatching(/\/assets\/add-to-apple-wallet\.svg$/),
  ]);
  const responses = await Promise.all(addresses.map((address) => fetch(address)));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

it("issues a card through a proxy, with undici", async () => {
  const { url, setEnvironment } = await open();
  const targets: (string | undefined)[] = [];
  const proxy = createServer().on("connect", ({ url: target }, socket) => {
    targets.push(target);
    const upstream = connect(Number(new URL(url).port), "127.0.0.1", () =>
      socket.write("HTTP/1.1 200 OK\r\n\r\n"),
    );
    upstream.pipe(socket).pipe(upstream);
    onTestFinished(() => void upstream.destroy());
  });
  setEnvironment();
  const HTTP_PROXY = await listen(proxy);
  Object.assign(process.env, { HTTP_PROXY, NO_PROXY: "" });
  vi.resetModules();
  const { loyalty } = await import("./client.ts");
  await loyalty.issueCard(coffeeClub.id, anna, { userId: 1 });
  expect(targets).toEqual([new URL(url).host]);
});

it("names the message for each input of a form", async () => {
  const { client } = await open();
  const customer = { phone: "12", consents: { privacy: { version: "1" } } };
  const error = await client
    .issueCard(coffeeClub.id, { customer }, { userId: 1 })
    .catch((thrown: unknown) => thrown);
  expect([...toFieldMessages(error).keys()]).toEqual([
    "/fieldValues/name",
    "/customer/phone",
  ]);
  expect(() => toFieldMessages(new RangeError("mine"))).toThrow("mine");
});

it.each([true, false])(
  "issues one card to a form that is corrected after a 422, or whose first response was lost; the service stores refusals: %s",
  async (storeRefusals) => {
    const { client, service, readCards } = await open({ storeRefusals });
    const user: User = { id: crypto.randomUUID(), name: "Anna", phone: "12" };
    const join = () => issueCardOrCorrect(client, coffeeClub.id, user);
    expect(await join()).toBe("The phone number is not valid.");
    user.phone = "+48600100200";
    const { id } = service.faults.add(outage);
    await expect(join()).rejects.toMatchObject({ outcome: "unknown" });
    service.faults.remove(id);
    for (let times = 0; times < 2; times++) {
      expect(await join()).toBeUndefined();
      expect(await readCards()).toEqual([user.cardId]);
    }
  },
);

it("MSW intercepts the requests of the default transport and of the global fetch, and no others", async () => {
  // Responds to the requests that MSW does not intercept.
  const baseUrl = await listen((_request, response) =>
    response.writeHead(418).end(),
  );
  const service = createMockService({ baseUrl });
  const { website: apiKey } = service.apiKeys;
  const create = (options: IssuingClientOptions = {}) =>
    createIssuingClient({ baseUrl, apiKey, ...options });
  const before = create();
  const fetchBefore = create({ fetch });
  const mock = setupServer(...mockHandlers(service));
  mock.listen({ onUnhandledRequest: "error" });
  onTestFinished(() => mock.close());

  const wrapped = create({ fetch: (...request) => fetch(...request) });
  for (const client of [before, create(), create({ fetch }), wrapped])
    await expect(client.getCard("card_1")).rejects.toMatchObject({ status: 404 });
  // A global fetch that was passed before MSW replaced it, and the package undici.
  for (const client of [fetchBefore, create({ fetch: undiciFetch })])
    await expect(client.getCard("card_1")).rejects.toMatchObject({ status: 418 });
  expect((await undiciRequest(baseUrl)).statusCode).toBe(418);
});

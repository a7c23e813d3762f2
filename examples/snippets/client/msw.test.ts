/** Which requests MSW intercepts, as the guide "Testing" says. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createIssuingClient,
  type IssuingClientOptions,
} from "@loyalty-cards/issuing-client";
import { createMockService } from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, expect, it } from "vitest";

/** Responds to the requests that MSW does not intercept. */
const network = createServer((_request, response) => response.writeHead(418).end());
await new Promise<void>((resolve) => network.listen(0, "127.0.0.1", resolve));
const service = createMockService({
  baseUrl: `http://127.0.0.1:${(network.address() as AddressInfo).port}`,
});
const mock = setupServer(...mockHandlers(service));

const open = (options: Partial<IssuingClientOptions>) =>
  createIssuingClient({
    baseUrl: service.baseUrl,
    apiKey: service.apiKeys.website,
    ...options,
  });
const createdBefore = open({});
const fetchBefore = open({ fetch });

beforeAll(() => mock.listen({ onUnhandledRequest: "error" }));
afterAll(() => {
  mock.close();
  network.close();
});

it.each([
  ["the default transport", () => open({})],
  [
    "the default transport of a client that was created before",
    () => createdBefore,
  ],
  ["the global fetch", () => open({ fetch })],
  [
    "a function that calls the global fetch",
    () => open({ fetch: (...request) => fetch(...request) }),
  ],
])("MSW intercepts %s", async (_name, getClient) => {
  await expect(getClient().getCard("card_1")).rejects.toMatchObject({
    status: 404,
  });
});

it.each([
  [
    "a global fetch that was passed before MSW replaced it",
    async () => fetchBefore,
  ],
  [
    "the fetch of the package undici",
    async () => open({ fetch: (await import("undici")).fetch }),
  ],
])("MSW does not intercept %s", async (_name, getClient) => {
  const loyalty = await getClient();
  await expect(loyalty.getCard("card_1")).rejects.toMatchObject({ status: 418 });
});

it("MSW does not intercept the request of the package undici", async () => {
  const { request } = await import("undici");
  expect((await request(service.baseUrl)).statusCode).toBe(418);
});

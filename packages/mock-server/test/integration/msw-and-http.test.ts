/**
 * One table of what a shop does with the service, over both ways to use it in tests: with MSW, where
 * the client sends with fetch, and on a port, where it sends with node:http.
 */
import {
  type ClientEvent,
  createIssuingClient,
  type IssuingClientOptions,
  isIssuingError,
} from "@loyalty-cards/issuing-client";
import { listen } from "@loyalty-cards/testing/resources";
import { operationCalls, template } from "@loyalty-cards/testing/scripted-client";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { setupServer } from "msw/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { mockHandlers } from "../../src/adapters/msw.ts";
import { startMockServer } from "../../src/adapters/node.ts";
import { createMockService, type MockService, scaledClock } from "../../src/index.ts";
import { operationRows, rows, type Shop } from "./service-rows.ts";

interface OpenService {
  service: MockService;
  /** How the client sends. */
  transport: IssuingClientOptions;
}

const ways: Record<string, () => OpenService | Promise<OpenService>> = {
  "with MSW, by fetch": () => {
    const options = { templates: [template], clock: scaledClock(), log: () => {} };
    const service = createMockService(options);
    const server = setupServer(...mockHandlers(service));
    server.listen({ onUnhandledRequest: "bypass" }); // deliveries go to a receiver on a port
    onTestFinished(() => server.close());
    return { service, transport: { fetch: (input, init) => fetch(input, init) } };
  },
  "on a port, by node:http": async () => {
    const { service, close } = await startMockServer({ templates: [template], log: () => {} });
    onTestFinished(close);
    return { service, transport: {} };
  },
};

async function openServiceShop({ service, transport }: OpenService): Promise<Shop> {
  const events: ClientEvent[] = [];
  const received: WebhookEvent[] = [];
  const receiver = { secret: "", failures: 0 };
  const connect = (options: IssuingClientOptions) =>
    createIssuingClient({
      baseUrl: service.baseUrl,
      apiKey: service.apiKeys.website,
      onEvent: (event) => void events.push(event),
      testing: { random: () => 0 }, // pauses have no length
      ...transport,
      ...options,
    });
  const receive = nodeReceiver({
    secret: () => receiver.secret,
    handler(event) {
      receiver.failures -= 1;
      if (receiver.failures >= 0) throw new Error("The database is down.");
      received.push(event);
    },
    log: () => {},
  });
  const url = await listen(receive);
  receiver.secret = service.webhooks.createEndpoint({ url, events: ["balance.changed"] }).secret;
  const readAttempts = () =>
    service.webhooks.deliveries().flatMap(({ attempts }) => attempts.map(({ status }) => status));
  return { service, client: connect({}), connect, events, readAttempts, received, receiver };
}

const countCards = (service: MockService) =>
  (service.snapshot().state as { cards: Map<string, unknown> }).cards.size;

/** How a call ended: its value, or the error as data. */
async function settle(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    const { code, status, outcome, retryable, attempts, fields } = error;
    return { code, status, outcome, retryable, attempts, fields };
  }
}

describe.each(Object.entries(ways))("%s", (_way, open) => {
  it.each(rows)("$title", async ({ faults = [], run, expected, cards }) => {
    const shop = await openServiceShop(await open());
    for (const fault of faults) shop.service.faults.add(fault);
    const result = await settle(run(shop));
    expect({ result }).toMatchObject({ result: expected });
    if (cards !== undefined) expect(countCards(shop.service)).toBe(cards);
  });
});

it("has a row for each operation of the service", () => {
  const titles = operationRows.map(({ title }) => title.split(" ")[0]);
  expect(titles.sort()).toEqual(Object.keys(operationCalls).sort());
});

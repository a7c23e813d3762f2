/** What the tests of the snippets need: a mock service with a client, a server, a shop and a folder. They end with the test. */
import type { RequestListener } from "node:http";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import {
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import { listen } from "@loyalty-cards/testing/resources";
import { ensureInboxTables } from "@loyalty-cards/webhook-inbox/postgres";
import type { Pool } from "pg";
import { onTestFinished } from "vitest";

/** A template whose name is required. */
export const coffeeClub = {
  id: "tpl_coffee",
  name: "Coffee club",
  fields: [{ key: "name", type: "name", required: true }],
  tiers: [{ name: "Silver", from: 100 }],
} as const;

export async function openService(options: MockServerOptions = {}) {
  const mock = await startMockServer(options);
  onTestFinished(mock.close);
  const { url, service } = mock;
  const client = createIssuingClient({
    baseUrl: url,
    apiKey: service.apiKeys.website,
  });
  return {
    mock,
    url,
    service,
    client,
    /** For snippets that read the environment. */
    setEnvironment: () =>
      void Object.assign(process.env, {
        LOYALTY_URL: url,
        LOYALTY_API_KEY: service.apiKeys.website,
        LOYALTY_TEMPLATE_ID: service.templateId,
      }),
    /** The ids of all cards. */
    async readCards(): Promise<string[]> {
      const response = await fetch(`${url}/_mock/cards`);
      const { items } = (await response.json()) as { items: { id: string }[] };
      return items.map(({ id }) => id);
    },
    /** A card of the default template. */
    async issueCard(): Promise<string> {
      const customer = { consents: { privacy: { version: "1" } } };
      const { templateId } = service;
      return (await client.issueCard(templateId, { customer }, { userId: 1 })).id;
    },
  };
}

/** The service fails every request: after the card is issued, which is the worst failure. */
export const outage = {
  phase: "after-commit",
  kind: "status",
  status: 503,
} as const;

/** A table of balances, and the tables of the inbox. */
export async function createBalances(pool: Pool) {
  await ensureInboxTables(pool);
  await pool.query("CREATE TABLE balances (card text PRIMARY KEY, balance float)");
  onTestFinished(async () => void (await pool.query("DROP TABLE balances")));
  return async () =>
    (await pool.query("SELECT balance FROM balances")).rows[0]?.balance;
}

/** A card, and a receiver of its events. */
export async function openCardWithReceiver(options: MockServerOptions = {}) {
  let listener: RequestListener = (_request, response) =>
    response.writeHead(404).end();
  const url = await listen((request, response) => listener(request, response));
  const endpoint = `${url}/webhooks/loyalty`;
  const { mock, issueCard } = await openService({
    ...options,
    endpoints: [{ url: endpoint, events: ["balance.changed"] }],
  });
  const cardId = await issueCard();
  return {
    mock,
    secret: mock.service.endpoints[0]?.secret ?? "",
    cardId,
    /** @returns the address to which events are delivered. */
    listen: (own: RequestListener) => {
      listener = own;
      return endpoint;
    },
    /** @returns the status of the delivery. */
    async buy(points: number) {
      mock.service.cards.purchase(cardId, { points });
      await mock.service.idle();
      return mock.service.webhooks.deliveries().at(-1)?.attempts.at(-1)?.status;
    },
  };
}

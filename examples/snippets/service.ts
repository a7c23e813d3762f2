/** What the tests of the snippets need: a mock service with a client, and a folder. Both end with the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import {
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import { onTestFinished } from "vitest";

/** A template whose name is required. */
export const coffeeClub = {
  id: "tpl_coffee",
  name: "Coffee club",
  fields: [{ key: "name", type: "name", required: true }],
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
    ...{ mock, url, service, client },
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

export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

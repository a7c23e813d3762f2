/** A shop for the tests of this folder: a card of the mock service, and a receiver of its events over HTTP. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import type { ManualClock } from "@loyalty-cards/mock-server";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { onTestFinished } from "vitest";

/** A card, and a receiver of its events. */
export async function shop(options: { clock?: ManualClock } = {}) {
  let listener: RequestListener = (_request, response) =>
    response.writeHead(404).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/loyalty`;
  const mock = await startMockServer({
    ...options,
    endpoints: [{ url, events: ["balance.changed"] }],
  });
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await mock.close();
  });
  const loyalty = createIssuingClient({
    baseUrl: mock.url,
    apiKey: mock.service.apiKeys.website,
  });
  const customer = { consents: { privacy: { version: "1" } } };
  const card = await loyalty.issueCard(
    mock.service.templateId,
    { customer },
    { userId: 1 },
  );
  return {
    mock,
    secret: mock.service.endpoints[0]?.secret ?? "",
    cardId: card.id,
    /** @returns the address to which events are delivered. */
    listen: (own: RequestListener) => {
      listener = own;
      return url;
    },
    async buy(points: number) {
      mock.service.cards.purchase(card.id, { points });
      await mock.service.idle();
      return mock.service.webhooks.deliveries().at(-1)?.attempts.at(-1)?.status;
    },
  };
}

export function scratchFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "example-inbox-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "shop.db");
}

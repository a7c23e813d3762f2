/** A shop for the tests of this folder: a card of the mock service, and a receiver of its events over HTTP. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ManualClock } from "@loyalty-cards/mock-server";
import { onTestFinished } from "vitest";
import { createFolder, openService } from "../service.ts";

/** A card, and a receiver of its events. */
export async function shop(options: { clock?: ManualClock } = {}) {
  let listener: RequestListener = (_request, response) =>
    response.writeHead(404).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/loyalty`;
  const { mock, issueCard } = await openService({
    ...options,
    endpoints: [{ url, events: ["balance.changed"] }],
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const cardId = await issueCard();
  return {
    mock,
    secret: mock.service.endpoints[0]?.secret ?? "",
    cardId,
    /** @returns the address to which events are delivered. */
    listen: (own: RequestListener) => {
      listener = own;
      return url;
    },
    async buy(points: number) {
      mock.service.cards.purchase(cardId, { points });
      await mock.service.idle();
      return mock.service.webhooks.deliveries().at(-1)?.attempts.at(-1)?.status;
    },
  };
}

export const scratchFile = () => join(createFolder(), "shop.db");

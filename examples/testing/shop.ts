/** The fixture of each test: its own service with a manual clock, an outbox, and a receiver. */
// #region fixture
// shop.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { type SqliteOutbox, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import {
  createMockService,
  type MockService,
  manualClock,
} from "@loyalty-cards/mock-server";
import { mockHandlers } from "@loyalty-cards/mock-server/msw";
import { ensureInboxTables } from "@loyalty-cards/webhook-inbox/sqlite";
import { setupServer } from "msw/node";
import { test } from "vitest";
import { receiveBalances } from "./balances.ts";

export interface Shop {
  service: MockService;
  outbox: SqliteOutbox;
  templateId: string;
  database: { isDown: boolean };
  readBalance(cardId: string): Promise<number | undefined>;
}

export const it = test.extend<{ shop: Shop }>({
  // biome-ignore lint/correctness/noEmptyPattern: it needs no fixture
  shop: async ({}, provide) => {
    const service = createMockService({
      clock: manualClock(),
      deliver: (request) => receive(request),
      storeRefusals: true, // the service repeats a 422 for 24 hours
      templates: [
        {
          id: "tpl_club",
          name: "Club",
          fields: [{ key: "name", type: "name", required: true }],
          tiers: [{ name: "Gold", from: 100 }],
        },
      ],
    });
    const { secret } = service.webhooks.createEndpoint({
      url: "https://shop.test/webhooks",
      events: ["balance.changed"],
    });
    const folder = mkdtempSync(join(tmpdir(), "shop-"));
    const client = createIssuingClient({
      baseUrl: service.baseUrl,
      apiKey: service.apiKeys.website,
    });
    const outbox = sqliteOutbox({ client, file: join(folder, "shop.db") });

    await outbox.write((shop) => {
      ensureInboxTables(shop); // of isNewest
      shop.exec("CREATE TABLE balances (card TEXT PRIMARY KEY, balance REAL)");
    });
    const database = { isDown: false };
    const write: SqliteOutbox["write"] = async (work) => {
      if (database.isDown) throw new Error("database down");
      return outbox.write(work);
    };
    const receive = receiveBalances({ secret, now: service.clock.now }, write);
    const readBalance = (cardId: string) =>
      outbox.write((shop) => {
        const select = "SELECT balance FROM balances WHERE card = ?";
        const row = shop.prepare(select).get(cardId);
        return (row as { balance: number } | undefined)?.balance;
      });

    const network = setupServer(...mockHandlers(service));
    network.listen({ onUnhandledRequest: "error" });
    await provide({
      service,
      outbox,
      templateId: "tpl_club",
      database,
      readBalance,
    });
    network.close();
    await outbox.close();
    rmSync(folder, { recursive: true });
  },
});
// #endregion

/** After an outage, stored balances are corrected on SQLite and PostgreSQL, from the mock service over real HTTP. */
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { manualClock } from "@loyalty-cards/mock-server";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  hasPostgres,
  ownSchema,
} from "../../../packages/webhook-inbox/test/servers.ts";
import { createBalances, createFile, openShop as open } from "../service.ts";
import { createApp } from "./one-machine.ts";
import {
  reconcileBalances,
  type StoreBalance,
  storeInSqlite,
} from "./reconcile.ts";
import { createReceiver, storeInPostgres } from "./several-machines.ts";

interface Store {
  receive: RequestListener;
  storeBalance: StoreBalance;
  balance(): Promise<unknown>;
}

/** A shop whose balances are in this store, and a client that reports each request, on the clock of the mock service. */
async function openShop(
  openStore: (secret: string, cardId: string) => Promise<Store>,
) {
  const { mock, secret, cardId, listen, buy } = await open({
    clock: manualClock(),
  });
  const { receive, storeBalance, balance } = await openStore(secret, cardId);
  const { clock } = mock.service;
  return {
    ...{ mock, cardId, storeBalance, balance, clock },
    options: { now: () => clock.now(), sleep: (ms: number) => clock.advance(ms) },
    /** Buys something, and waits until the event is stored. */
    async buy(points: number, total: number) {
      await clock.advance(1); // events of the same millisecond have no order
      listen(receive);
      expect(await buy(points)).toBe(204);
      await expect.poll(balance).toBe(total);
    },
    /** Buys something during an outage: the event is not delivered. */
    async buyInOutage(points: number) {
      listen((_request, response) => response.writeHead(503).end());
      expect(await buy(points)).toBe(503);
      listen(receive);
    },
    /** @param onRead runs after the service has read the card, and before it responds. */
    createClient: (onRead: () => unknown = () => {}, apiKey?: string) =>
      createIssuingClient({
        baseUrl: mock.url,
        apiKey: apiKey ?? mock.service.apiKeys.website,
        async fetch(...request) {
          const response = await fetch(...request);
          await onRead();
          const { status } = response;
          const headers = new Headers(response.headers);
          // The mock server sends the time of the computer.
          headers.set("date", new Date(clock.now()).toUTCString());
          return new Response(await response.text(), { status, headers });
        },
      }),
  };
}

function testReconciliation(
  openStore: (secret: string, cardId: string) => Promise<Store>,
) {
  it("corrects a balance whose event was lost, and ignores events from before the read", async () => {
    const shop = await openShop(openStore);
    const { mock, cardId, storeBalance, balance, clock, options } = shop;
    await shop.buy(5, 5);
    await shop.buyInOutage(100);
    await clock.advance(3_000); // the date of a response has whole seconds
    const reconcile = () =>
      reconcileBalances(shop.createClient(), [cardId], storeBalance, options);
    expect(await reconcile()).toEqual({ corrected: 1, notFound: [] });
    expect(await balance()).toBe(105);
    expect(await reconcile()).toEqual({ corrected: 0, notFound: [] });
    const lost = mock.service.webhooks.deliveries().at(-1);
    mock.service.webhooks.resend(lost?.id ?? "");
    await mock.service.idle();
    expect(await balance()).toBe(105);
    await shop.buy(1, 106);
  });

  it("does not overwrite the balance of an event that is stored while the service responds", async () => {
    const shop = await openShop(openStore);
    const { cardId, storeBalance, balance, clock, options } = shop;
    await shop.buy(5, 5);
    const loyalty = shop.createClient(async () => {
      await shop.buy(7, 12);
      await clock.advance(3_000);
    });
    expect(
      await reconcileBalances(loyalty, [cardId], storeBalance, options),
    ).toEqual({ corrected: 0, notFound: [] });
    expect(await balance()).toBe(12);
  });

  it("skips and reports a card that does not exist, and ends at another error", async () => {
    const shop = await openShop(openStore);
    const { cardId, storeBalance, balance, options } = shop;
    await shop.buyInOutage(9);
    await shop.clock.advance(3_000);
    const cards = ["card_erased", cardId];
    expect(
      await reconcileBalances(shop.createClient(), cards, storeBalance, options),
    ).toEqual({ corrected: 1, notFound: ["card_erased"] });
    expect(await balance()).toBe(9);
    const wrong = shop.createClient(undefined, "lk_of_another_service");
    await expect(
      reconcileBalances(wrong, cards, storeBalance, options),
    ).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("begins at most cardsPerSecond calls in a second, also after a slow one", async () => {
    const shop = await openShop(openStore);
    const { cardId, storeBalance, clock, options } = shop;
    const begunMs = clock.now();
    const durationsMs = [50, 700, 50, 50];
    const ends: number[] = [];
    const loyalty = shop.createClient(async () => {
      await clock.advance(durationsMs[ends.length] ?? 0);
      ends.push(clock.now() - begunMs);
    });
    const cards = durationsMs.map(() => cardId);
    await reconcileBalances(loyalty, cards, storeBalance, {
      ...options,
      cardsPerSecond: 4,
    });
    expect(ends).toEqual([50, 950, 1_000, 1_250]);
  });
}

describe("with SQLite", () => {
  testReconciliation(async (secret, cardId) => {
    const { app, inbox } = await createApp(secret, createFile());
    onTestFinished(() => inbox.close());
    const read = () =>
      inbox.write((database) =>
        database.prepare("SELECT balance FROM balances WHERE card = ?").get(cardId),
      ) as Promise<{ balance: number } | undefined>;
    return {
      receive: app,
      storeBalance: storeInSqlite(inbox),
      balance: async () => (await read())?.balance,
    };
  });
});

describe.skipIf(!(await hasPostgres()))("with PostgreSQL", () => {
  const { pool: createPool } = ownSchema();
  testReconciliation(async (secret) => {
    const pool = createPool();
    return {
      receive: getRequestListener(createReceiver(secret, pool)),
      storeBalance: storeInPostgres(pool),
      balance: await createBalances(pool),
    };
  });
});

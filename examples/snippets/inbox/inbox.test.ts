/** The inboxes of the guides take deliveries of the mock service, over real HTTP and on real engines; after an outage, stored balances are corrected. */
import { randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import {
  createIssuingClient,
  type IssuingClient,
} from "@loyalty-cards/issuing-client";
import { manualClock } from "@loyalty-cards/mock-server";
import { scratchFile } from "@loyalty-cards/testing/resources";
import {
  hasPgBoss,
  hasPostgres,
  hasRedis,
  ownPrefix,
  ownSchema,
} from "@loyalty-cards/testing/servers";
import {
  type InboxEntry,
  type InboxHealth,
  pgBossInbox,
  sqliteInbox,
} from "@loyalty-cards/webhook-inbox";
import type { BalanceChanged, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import express from "express";
import type pg from "pg";
import { PgBoss } from "pg-boss";
import { describe, expect, it, onTestFinished } from "vitest";
import { createBalances, openCardWithReceiver } from "../../test/service.ts";
import { operateInbox } from "../operations.ts";
import { createApp } from "./one-machine.ts";
import {
  reconcileBalances,
  type StoreBalance,
  storeInSqlite,
} from "./reconcile.ts";
import {
  applyBalance,
  connect,
  createRoute,
  receiveWithBullmq,
  receiveWithPgBoss,
  receiveWithPostgres,
  storeInPostgres,
} from "./several-machines.ts";
import { inTransaction } from "./transaction.ts";

interface Store {
  receive: RequestListener;
  storeBalance: StoreBalance;
  balance(): Promise<unknown>;
}

/** A shop whose balances are in this store, and a client that reports each request, on the clock of the mock service. */
async function openShopOnClock(
  openStore: (secret: string, cardId: string) => Promise<Store>,
) {
  const { mock, secret, cardId, listen, buy } = await openCardWithReceiver({
    clock: manualClock(),
  });
  const { receive, storeBalance, balance } = await openStore(secret, cardId);
  const { clock } = mock.service;
  const now = () => clock.now();
  const sleep = (ms: number) => clock.advance(ms);
  return {
    mock,
    cardId,
    balance,
    clock,
    reconcile: (
      loyalty: IssuingClient,
      cards: string[] = [cardId],
      options: { cardsPerSecond?: number } = {},
    ) =>
      reconcileBalances(loyalty, cards, storeBalance, { now, sleep, ...options }),
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
    const shop = await openShopOnClock(openStore);
    const { mock, balance, clock, reconcile } = shop;
    await shop.buy(5, 5);
    await shop.buyInOutage(100);
    await clock.advance(3_000); // the date of a response has whole seconds
    const client = shop.createClient();
    expect(await reconcile(client)).toEqual({ corrected: 1, notFound: [] });
    expect(await balance()).toBe(105);
    expect(await reconcile(client)).toEqual({ corrected: 0, notFound: [] });
    const lost = mock.service.webhooks.deliveries().at(-1);
    mock.service.webhooks.resend(lost?.id ?? "");
    await mock.service.idle();
    expect(await balance()).toBe(105);
    await shop.buy(1, 106);
  });

  it("does not overwrite the balance of an event that is stored while the service responds", async () => {
    const shop = await openShopOnClock(openStore);
    const { balance, clock, reconcile } = shop;
    await shop.buy(5, 5);
    const loyalty = shop.createClient(async () => {
      await shop.buy(7, 12);
      await clock.advance(3_000);
    });
    expect(await reconcile(loyalty)).toEqual({ corrected: 0, notFound: [] });
    expect(await balance()).toBe(12);
  });

  it("skips and reports a card that does not exist, and ends at another error", async () => {
    const shop = await openShopOnClock(openStore);
    const { balance, clock, reconcile } = shop;
    await shop.buyInOutage(9);
    await clock.advance(3_000);
    const cards = ["card_erased", shop.cardId];
    const result = { corrected: 1, notFound: ["card_erased"] };
    expect(await reconcile(shop.createClient(), cards)).toEqual(result);
    expect(await balance()).toBe(9);
    const wrong = shop.createClient(undefined, "lk_of_another_service");
    const error = { code: "unauthorized" };
    await expect(reconcile(wrong, cards)).rejects.toMatchObject(error);
  });

  it("begins at most cardsPerSecond calls in a second, also after a slow one", async () => {
    const shop = await openShopOnClock(openStore);
    const { cardId, clock, reconcile } = shop;
    const begunMs = clock.now();
    const durationsMs = [50, 700, 50, 50];
    const ends: number[] = [];
    const loyalty = shop.createClient(async () => {
      await clock.advance(durationsMs[ends.length] ?? 0);
      ends.push(clock.now() - begunMs);
    });
    const cards = durationsMs.map(() => cardId);
    await reconcile(loyalty, cards, { cardsPerSecond: 4 });
    expect(ends).toEqual([50, 950, 1_000, 1_250]);
  });
}

describe("with SQLite", () => {
  testReconciliation(async (secret, cardId) => {
    const { app, inbox } = await createApp(secret, scratchFile());
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

describe.skipIf(!(await hasPostgres()))("on PostgreSQL", () => {
  const { schema, url, pool: createPool } = ownSchema();

  testReconciliation(async (secret) => {
    const pool = createPool();
    return {
      receive: getRequestListener(receiveWithPostgres(secret, pool)),
      storeBalance: storeInPostgres(pool),
      balance: await createBalances(pool),
    };
  });

  it("commits all of a transaction or nothing, also when the connection is closed", async () => {
    const pool = createPool();
    const balance = await createBalances(pool);
    pool.on("error", () => {});
    const store = "INSERT INTO balances VALUES ('card_1', 5)";
    const failing = (last: (client: pg.PoolClient) => Promise<unknown>) =>
      inTransaction(pool, async (client) => {
        await client.query(store);
        await last(client);
      });
    await expect(failing(() => Promise.reject("no card"))).rejects.toBe("no card");
    await expect(
      failing((client) => client.query("SELECT 1 / 0").catch(() => {})),
    ).rejects.toThrow("COMMIT was a ROLLBACK");
    const close = "SELECT pg_terminate_backend(pg_backend_pid())";
    for (const ignored of [() => {}, undefined])
      await expect(
        failing((client) => client.query(close).catch(ignored)),
      ).rejects.toThrow();
    expect(await balance()).toBeUndefined();
    const { rowCount } = await inTransaction(pool, (client) => client.query(store));
    expect(rowCount).toBe(1);
    expect(await balance()).toBe(5);
  });

  it("applies each event once with postgres.js, also when a pooler loses prepared statements", async () => {
    const balance = await createBalances(createPool());
    const sql = connect(`${url}?search_path=${schema}&max=1`);
    onTestFinished(() => sql.end());
    const operation = { id: "op_1", type: "purchase" } as const;
    for (const [points, stored] of [
      [1, 1],
      [2, 2],
      [1, 2],
    ]) {
      const data = { passId: "card_1", balance: points, operation };
      const createdAt = `2026-01-0${points}T00:00:00Z`;
      const event = {
        id: `evt_${points}`,
        type: "balance.changed",
        createdAt,
        data,
      };
      await applyBalance(sql, event as BalanceChanged);
      expect(await balance()).toBe(stored);
      await sql.unsafe("DEALLOCATE ALL");
    }
  });
});

describe.skipIf(!(await hasPgBoss()))("with pg-boss", () => {
  const { schema, url, pool: createPool } = ownSchema();

  async function startBoss() {
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    return boss;
  }

  it("processes stored events when a schedule calls a route", async () => {
    const { secret, listen, buy } = await openCardWithReceiver();
    const boss = await startBoss();
    const queue = `scheduled-${randomUUID()}`;
    await boss.createQueue(queue);
    const inbox = await pgBossInbox(boss, { queue });
    listen(getRequestListener(fetchReceiver({ secret, inbox })));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    const handled: string[] = [];
    const route = createRoute(boss, queue, ({ type }) => void handled.push(type));
    const call = async (authorization: string) => {
      const init = { headers: { authorization } };
      return (await route(new Request("http://shop.example/cron", init))).status;
    };
    delete process.env.CRON_SECRET;
    expect(await call("Bearer undefined")).toBe(401);
    process.env.CRON_SECRET = "of the schedule";
    expect(await call("Bearer wrong")).toBe(401);
    expect(await call("Bearer of the schedule")).toBe(204);
    expect(handled).toEqual(["balance.changed", "balance.changed"]);
  });

  it("stores and processes events", async () => {
    const { secret, listen, buy } = await openCardWithReceiver();
    const pool = createPool();
    const balance = await createBalances(pool);
    const boss = await startBoss();
    const receive = await receiveWithPgBoss(secret, boss, pool);
    listen(express().post("/webhooks/loyalty", receive));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    await expect.poll(balance).toBe(12);
  });
});

describe.skipIf(!(await hasRedis()))("on Redis", () => {
  const { prefix, url } = ownPrefix();
  it("stores and processes events with BullMQ", async () => {
    const { secret, listen, buy } = await openCardWithReceiver();
    const handled: string[] = [];
    const handle = ({ type }: WebhookEvent) => void handled.push(type);
    const { receive, queue, worker } = await receiveWithBullmq(
      secret,
      url,
      handle,
      prefix,
    );
    onTestFinished(async () => {
      await worker.close();
      await queue.close();
    });
    listen(getRequestListener(receive));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    await expect
      .poll(() => handled)
      .toEqual(["balance.changed", "balance.changed"]);
  });
});

it("shows dead letters to an administrator, and replays one", async () => {
  const { secret, listen, buy } = await openCardWithReceiver();
  const inbox = sqliteInbox({ file: scratchFile(), log: () => {} });
  onTestFinished(() => inbox.close());
  const app = express();
  const authorization = `Bearer ${randomUUID()}`;
  operateInbox(app, inbox, (request, response, next) =>
    request.get("authorization") === authorization
      ? next()
      : void response.sendStatus(401),
  );
  app.post("/webhooks/loyalty", expressReceiver({ secret, inbox }));
  const url = listen(app);
  expect(await buy(5)).toBe(204);
  const fail = () => Promise.reject(new Error("The balance is locked."));
  await inbox.drain(fail, { maxAttempts: 1 });

  const admin = (path: string, init?: RequestInit) =>
    fetch(new URL(path, url), { headers: { authorization }, ...init });
  type Page = { health: InboxHealth; dead: InboxEntry[] };
  const read = async () => (await (await admin("/admin/inbox")).json()) as Page;
  const { health, dead } = await read();
  expect(health).toEqual({ isReachable: true, waiting: 0, dead: 1 });
  expect(dead).toMatchObject([{ type: "balance.changed", attempts: 1 }]);
  const path = `/admin/inbox/${dead[0]?.id}/replay`;
  const replay = async () => (await admin(path, { method: "POST" })).status;
  expect([await replay(), await replay()]).toEqual([204, 404]);
  expect(await read()).toMatchObject({ health: { waiting: 1 }, dead: [] });
  expect((await admin("/admin/inbox", { headers: {} })).status).toBe(401);
  expect((await admin(path, { method: "POST", headers: {} })).status).toBe(401);
});

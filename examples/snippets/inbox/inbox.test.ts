/** The README's inboxes take deliveries of the mock service, over real HTTP and on real engines. */
import { randomUUID } from "node:crypto";
import { getRequestListener } from "@hono/node-server";
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
import {
  hasPgBoss,
  hasPostgres,
  hasRedis,
  ownPrefix,
  ownSchema,
} from "../../../packages/webhook-inbox/test/servers.ts";
import { operateInbox } from "../operations.ts";
import { createBalances, createFile, openShop } from "../service.ts";
import { createApp } from "./one-machine.ts";
import {
  applyBalance,
  connect,
  createReceiver,
  createRoute,
  receiveWithBullmq,
  receiveWithPgBoss,
} from "./several-machines.ts";
import { inTransaction } from "./transaction.ts";

it("stores and processes events on one machine", async () => {
  const { secret, cardId, listen, buy } = await openShop();
  const { app, inbox } = await createApp(secret, createFile());
  listen(app);
  expect([await buy(5), await buy(7)]).toEqual([204, 204]);
  const balances = () =>
    inbox.write((database) =>
      database.prepare("SELECT card, balance FROM balances").all(),
    );
  await expect.poll(balances).toMatchObject([{ card: cardId, balance: 12 }]);
  await inbox.close();
});

describe.skipIf(!(await hasPostgres()))("on PostgreSQL", () => {
  const { schema, url, pool: createPool } = ownSchema();

  it("applies each event once without a queue", async () => {
    const { mock, secret, listen, buy } = await openShop();
    const pool = createPool();
    const balance = await createBalances(pool);
    const receive = createReceiver(secret, pool);
    listen(getRequestListener(receive));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    expect(await balance()).toBe(12);
    const sent = mock.service.webhooks.deliveries();
    for (const { id } of sent) mock.service.webhooks.resend(id);
    await mock.service.idle();
    expect(await balance()).toBe(12);
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
    expect(
      await inTransaction(pool, (client) => client.query(store)),
    ).toMatchObject({
      rowCount: 1,
    });
    expect(await balance()).toBe(5);
  });

  it("applies each event once with postgres.js, also when a pooler loses prepared statements", async () => {
    const balance = await createBalances(createPool());
    const sql = connect(`${url}?search_path=${schema}&max=1`);
    onTestFinished(() => sql.end());
    const event = (id: string, points: number): BalanceChanged => ({
      ...{ id, type: "balance.changed", createdAt: `2026-01-0${points}T00:00:00Z` },
      data: {
        ...{ passId: "card_1", customerId: "cus_1", balance: points, change: 1 },
        operation: { id: "op_1", type: "purchase" },
      },
    });
    const events = [event("evt_1", 1), event("evt_2", 2), event("evt_1", 1)];
    for (const each of events) {
      await applyBalance(sql, each);
      expect(await balance()).toBe(each === events[0] ? 1 : 2);
      await sql.unsafe("DEALLOCATE ALL");
    }
  });
});

describe.skipIf(!(await hasPgBoss()))("with pg-boss", () => {
  const { schema, url, pool: createPool } = ownSchema();

  it("processes stored events when a schedule calls a route", async () => {
    const { secret, listen, buy } = await openShop();
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    const queue = `scheduled-${randomUUID()}`;
    await boss.createQueue(queue);
    const inbox = await pgBossInbox(boss, { queue });
    listen(getRequestListener(fetchReceiver({ secret, inbox })));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    const handled: string[] = [];
    const route = createRoute(boss, queue, ({ type }) => void handled.push(type));
    process.env.CRON_SECRET = "of the schedule";
    const call = (authorization: string) =>
      route(
        new Request("http://shop.example/cron", { headers: { authorization } }),
      );
    expect((await call("Bearer wrong")).status).toBe(401);
    expect((await call("Bearer of the schedule")).status).toBe(204);
    expect(handled).toEqual(["balance.changed", "balance.changed"]);
  });

  it("stores and processes events", async () => {
    const { secret, listen, buy } = await openShop();
    const pool = createPool();
    const balance = await createBalances(pool);
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    listen(
      express().post(
        "/webhooks/loyalty",
        await receiveWithPgBoss(secret, boss, pool),
      ),
    );
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    await expect.poll(balance, { timeout: 15_000 }).toBe(12);
    await boss.stop({ graceful: false });
  });
});

describe.skipIf(!(await hasRedis()))("on Redis", () => {
  const { prefix, url } = ownPrefix();
  it("stores and processes events with BullMQ", async () => {
    const { secret, listen, buy } = await openShop();
    const events: WebhookEvent[] = [];
    let seen = () => {};
    const both = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const handle = (event: WebhookEvent) => {
      if (events.push(event) === 2) seen();
    };
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
    await both;
    expect(events.map(({ type }) => type)).toEqual([
      "balance.changed",
      "balance.changed",
    ]);
  });
});

it("shows dead letters to an administrator, and replays one", async () => {
  const { secret, listen, buy } = await openShop();
  const inbox = sqliteInbox({ file: createFile(), log: () => {} });
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
  const read = async () =>
    (await (await admin("/admin/inbox")).json()) as {
      health: InboxHealth;
      dead: InboxEntry[];
    };
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

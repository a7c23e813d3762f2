/** The README's inboxes take deliveries of the mock service, over real HTTP and on real engines. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { metrics } from "@opentelemetry/api";
import express from "express";
import PgBoss from "pg-boss";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasPostgres, hasRedis, ownPrefix, ownSchema } from "../../../packages/webhook-inbox/test/servers.ts";
import { receiveWebhooks as throughBullmq } from "./bullmq.ts";
import { createApp } from "./one-machine.ts";
import { openInbox } from "./operations.ts";
import { receiveWebhooks as throughPgBoss } from "./pg-boss.ts";

/** A card, and a receiver of its events. */
async function shop() {
  let listener: RequestListener = (_request, response) => response.writeHead(404).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/loyalty`;
  const mock = await startMockServer({ endpoints: [{ url, events: ["balance.changed"] }] });
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await mock.close();
  });
  const loyalty = createIssuingClient({ baseUrl: mock.url, apiKey: mock.service.apiKeys.website });
  const customer = { consents: { privacy: { version: "1" } } };
  const card = await loyalty.issueCard(mock.service.templateId, { customer }, { userId: 1 });
  return {
    secret: mock.service.endpoints[0]?.secret ?? "",
    cardId: card.id,
    listen: (own: RequestListener) => {
      listener = own;
    },
    async buy(points: number) {
      mock.service.cards.purchase(card.id, { points });
      await mock.service.idle();
      return mock.service.webhooks.deliveries().at(-1)?.attempts.at(-1)?.status;
    },
  };
}

function scratchFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "example-inbox-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "shop.db");
}

it("stores and processes events on one machine", async () => {
  const { secret, cardId, listen, buy } = await shop();
  const { app, inbox } = await createApp(secret, scratchFile());
  listen(app);
  expect([await buy(5), await buy(7)]).toEqual([204, 204]);
  const balances = () =>
    inbox.write((database) => database.prepare("SELECT card, balance FROM balances").all());
  await expect.poll(balances).toMatchObject([{ card: cardId, balance: 12 }]);
  await inbox.close();
});

describe.skipIf(!(await hasPostgres()))("on PostgreSQL", () => {
  const { schema, url, pool: createPool } = ownSchema();
  it("stores and processes events with pg-boss", async () => {
    const { secret, cardId, listen, buy } = await shop();
    const pool = createPool();
    await pool.query("CREATE TABLE balances (card text PRIMARY KEY, balance float NOT NULL)");
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    listen(express().post("/webhooks/loyalty", await throughPgBoss(secret, boss, pool)));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    const balances = async () => (await pool.query("SELECT card, balance FROM balances")).rows;
    await expect.poll(balances, { timeout: 15_000 }).toEqual([{ card: cardId, balance: 12 }]);
    await boss.stop({ graceful: false, close: true, wait: true });
  });
});

describe.skipIf(!(await hasRedis()))("on Redis", () => {
  const { prefix, url } = ownPrefix();
  it("stores and processes events with BullMQ", async () => {
    const { secret, listen, buy } = await shop();
    const events: WebhookEvent[] = [];
    let seen = () => {};
    const both = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const handle = (event: WebhookEvent) => {
      if (events.push(event) === 2) seen();
    };
    const { receive, queue, worker } = await throughBullmq(secret, url, handle, prefix);
    onTestFinished(async () => {
      await worker.close();
      await queue.close();
    });
    listen(getRequestListener(receive));
    expect([await buy(5), await buy(7)]).toEqual([204, 204]);
    await both;
    expect(events.map(({ type }) => type)).toEqual(["balance.changed", "balance.changed"]);
  });
});

it("shows metrics and a status page", async () => {
  const app = express();
  const name = `Bearer ${randomUUID()}`;
  const inbox = openInbox(
    scratchFile(),
    app,
    (request, response, next) =>
      request.get("authorization") === name ? next() : void response.sendStatus(401),
    metrics.getMeter("shop"),
  );
  onTestFinished(() => inbox.close());
  const { listen } = await shop();
  listen(app);
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/inbox`;
  expect((await fetch(url)).status).toBe(401);
  const page = await fetch(url, { headers: { authorization: name } });
  expect([page.status, (await page.text()).includes("Webhook inbox")]).toEqual([200, true]);
});

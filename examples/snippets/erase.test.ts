/** The programs of the guides that erase a person leave nothing of them, and all of others. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { createFolder } from "@loyalty-cards/testing/resources";
import {
  hasPgBoss,
  hasRedis,
  ownPrefix,
  ownSchema,
} from "@loyalty-cards/testing/servers";
import {
  bullmqInbox,
  pgBossInbox,
  sqliteInbox,
} from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { type Inbox, signWebhookSync } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Queue } from "bullmq";
import { PgBoss } from "pg-boss";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { coffeeClub, openService } from "../test/service.ts";
import { erase, eraseEvents, eraseFromQueue, eraseJobs } from "./erase.ts";

const anna = { userId: "user-anna", cardId: "card_1", customerId: "cus_1" };
const ben = { userId: "user-ben", cardId: "card_12", customerId: "cus_12" };

/** Receives a purchase and a consent of each. */
async function receiveEvents(inbox: Inbox, people: (typeof anna)[]) {
  const receive = fetchReceiver({ secret: "whsec", inbox });
  for (const { cardId: passId, customerId } of people) {
    for (const [type, data] of [
      ["balance.changed", { passId, balance: 5 }],
      ["consent.changed", { passIds: ["card_0"], customerId }],
    ] as const) {
      const createdAt = "2026-03-01T12:00:00.000Z";
      const id = crypto.randomUUID();
      const body = JSON.stringify({ id, type, createdAt, data });
      const signature = signWebhookSync({ rawBody: body, secret: "whsec" });
      const headers = { "service-signature": signature };
      const init = { method: "POST", headers, body };
      const { status } = await receive(new Request("https://shop.test/", init));
      expect(status).toBe(204);
    }
  }
}

it.each([false, true])(
  "erases a person from the SQLite file, and keeps others; the events were processed: %s",
  async (isProcessed) => {
    const { client } = await openService({ templates: [coffeeClub] });
    const folder = createFolder();
    const file = join(folder, "shop.db");
    const outbox = sqliteOutbox({ client, file });
    const inbox = sqliteInbox({ file });
    const people: (typeof anna)[] = [];
    for (const { userId } of [anna, ben]) {
      const customer = { name: userId, consents: { privacy: { version: "1" } } };
      const request = { fieldValues: { name: userId }, customer };
      await outbox.addAll([{ userId, template: coffeeClub.id, request }]);
      const { cardId = "" } = await outbox.issue(userId);
      const { customerId = "" } = await client.getCard(cardId);
      people.push({ userId, cardId, customerId });
    }
    await inbox.write((database) => {
      database.exec(`CREATE TABLE users (id TEXT, card TEXT);
        CREATE TABLE balances (cardId TEXT, balance REAL)`);
      for (const { userId, cardId } of people) {
        database.prepare("INSERT INTO users VALUES (?, ?)").run(userId, cardId);
        database.prepare("INSERT INTO balances VALUES (?, 5)").run(cardId);
        const event = { id: "1", createdAt: "2026-03-01T12:00:00.000Z" };
        isNewest(database, `balance of ${cardId}`, event);
      }
    });
    await receiveEvents(inbox, people);
    if (isProcessed) await inbox.drain(() => {});

    const [first = anna, second = ben] = people;
    const withoutCard = { userId: "nobody", cardId: "" };
    await erase(outbox, withoutCard);
    await inbox.write((database) => {
      eraseEvents(database, withoutCard);
      const count = "SELECT count(*) AS rows FROM webhook_inbox_newest";
      expect(database.prepare(count).get()).toMatchObject({ rows: 2 });
    });
    expect(await inbox.list()).toHaveLength(4);
    await erase(outbox, first);
    await inbox.write((database) => eraseEvents(database, first));
    expect(await outbox.get(first.userId)).toBeUndefined();
    expect(await inbox.list()).toHaveLength(2);
    expect(await outbox.get(second.userId)).toMatchObject({ state: "issued" });
    await Promise.all([outbox.close(), inbox.close()]);
    const read = (name: string) => readFileSync(join(folder, name), "latin1");
    const stored = readdirSync(folder).map(read).join("");
    const isFound = (person: typeof anna) =>
      Object.values(person).map((id) => stored.includes(id));
    expect(isFound(first)).toEqual([false, false, false]);
    expect(isFound(second)).toEqual([true, true, true]);
  },
);

it("erases a user of the shop of Getting started, which has no inbox", async () => {
  const { client, service, setEnvironment } = await openService();
  setEnvironment();
  vi.stubEnv("SHOP_FILE", join(createFolder(), "shop.db"));
  vi.stubEnv("LOYALTY_TEMPLATE_ID", service.templateId);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { listUsers, outbox, signUp } = await import(
    "../getting-started/loyalty.ts"
  );
  onTestFinished(() => outbox.close());
  await signUp({ name: "Anna", email: "anna@example.com", phone: "600100200" });
  const [user] = (await listUsers()) as { id: string; cardId: string }[];
  const { id: userId = "", cardId = "" } = user ?? {};
  const { customerId = "" } = await client.getCard(cardId);
  await erase(outbox, { userId, cardId, customerId });
  expect(await listUsers()).toEqual([]);
  expect(await outbox.get(userId)).toBeUndefined();
});

describe.skipIf(!(await hasPgBoss()))("with pg-boss", () => {
  const { schema, url, pool: createPool } = ownSchema();

  it("erases the events of a person, and keeps others", async () => {
    const boss = new PgBoss({ connectionString: url, schema });
    await boss.start();
    onTestFinished(() => boss.stop({ graceful: false }));
    await boss.createQueue("loyalty");
    const inbox = await pgBossInbox(boss, { queue: "loyalty" });
    await receiveEvents(inbox, [anna, ben]);
    const pool = createPool();
    for (const id of [anna.cardId, anna.customerId])
      expect((await eraseJobs(pool, id, schema)).rowCount).toBe(1);
    const left = await boss.fetch("loyalty", { batchSize: 9 });
    const bodies = left.map(({ data }) => (data as { body: string }).body);
    expect(bodies.map((body) => /card_12|cus_12/.test(body))).toEqual([true, true]);
  });
});

describe.skipIf(!(await hasRedis()))("with BullMQ", () => {
  const { prefix, url } = ownPrefix();

  it("erases the events of a person, and keeps others", async () => {
    const queue = new Queue("loyalty", { prefix, connection: { url } });
    onTestFinished(() => queue.close());
    const inbox = await bullmqInbox(queue);
    await receiveEvents(inbox, [anna, ben]);
    expect(await queue.getJobs()).toHaveLength(4);
    for (const id of [anna.cardId, anna.customerId])
      await eraseFromQueue(queue, id);
    const bodies = (await queue.getJobs()).map(({ data }) => data.body);
    expect(bodies.map((body) => /card_12|cus_12/.test(body))).toEqual([true, true]);
  });
});

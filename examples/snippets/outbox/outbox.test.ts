/** The outbox's examples in the guides, run against the mock service. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import {
  type OutboxCounts,
  type SqliteOutboxOptions,
  sqliteOutbox,
} from "@loyalty-cards/issuing-outbox";
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { expect, it, onTestFinished, vi } from "vitest";
import { coffeeClub, openService, outage } from "../../test/service.ts";
import { changeConsent, sendConsents } from "../client/consents.ts";
import { saveCards } from "../import/save-cards.ts";
import {
  drain,
  findAlarms,
  printWaiting,
  signUp as signUpBeside,
  sweep,
  toEntries,
  toOwedCard,
  type User,
  type Users,
} from "../operations.ts";

const anna = { id: "user-anna", name: "Anna", phone: "600100200" };
const ben = { id: "user-ben", name: "Ben", phone: "600100201" };
async function open() {
  const shop = await openService({ templates: [coffeeClub] });
  const folder = createFolder();
  const openOutbox = (onIssued: SqliteOutboxOptions["onIssued"] = () => {}) => {
    const file = join(folder, "outbox.db");
    const { client } = shop;
    const outbox = sqliteOutbox({ client, file, log: () => {}, onIssued });
    onTestFinished(() => outbox.close());
    return outbox;
  };
  return { ...shop, folder, openOutbox };
}

it("signs a user up on one machine, stores the card with the user, and corrects a rejected form", async () => {
  const { setEnvironment, folder, readCards } = await open();
  setEnvironment();
  const before = process.cwd();
  process.chdir(folder); // the file is in the current folder
  const { outbox, signUp, correct } = await import("./one-machine.ts");
  process.chdir(before);
  onTestFinished(() => outbox.close());
  const { state, cardId } = await signUp(anna);
  expect(state).toBe("issued");
  const select = "SELECT id, name, card FROM users";
  const readUsers = () =>
    outbox.write((database) => database.prepare(select).all());
  expect(await readUsers()).toMatchObject([{ id: anna.id, card: cardId }]);

  expect(await signUp({ ...ben, phone: "12" })).toMatchObject({
    state: "rejected",
    error: {
      userMessage: "The phone number is not valid.",
      fields: [{ pointer: "/customer/phone" }],
    },
  });
  const corrected = await correct(ben);
  await correct({ ...ben, name: "Benjamin" }); // there is a card
  expect(await readUsers()).toMatchObject([
    { card: cardId },
    { id: ben.id, name: ben.name, card: corrected.cardId },
  ]);
  expect(await readCards()).toHaveLength(2);
});

it("finds what an operator must know", () => {
  const nowMs = Date.UTC(2026, 10, 23, 12);
  const at = (hours: number) => new Date(nowMs + hours * 3_600_000);
  const counts = { waiting: 3, issued: 9, rejected: 1, unknown: 0, undelivered: 0 };
  const healthy = { paused: [], oldestWaitingMs: 3_600_000, nextExpiryAt: at(6) };
  expect(findAlarms({ ...counts, ...healthy }, nowMs)).toEqual([]);
  const alarming: OutboxCounts = {
    ...counts,
    undelivered: 1,
    unknown: 1,
    oldestWaitingMs: 3_600_001,
    nextExpiryAt: at(5.99),
    paused: [
      { reason: "server", template: "tpl_coffee", since: at(0) },
      { reason: "unauthorized", template: "tpl_tea", since: at(0) },
    ],
  };
  expect(findAlarms(alarming, nowMs)).toEqual([
    "Cards of tpl_coffee wait: server",
    "Cards of tpl_tea wait until somebody acts: unauthorized",
    'A card waits for more than an hour: list({ state: "waiting" }).',
    "Within six hours an entry becomes unknown.",
    "onIssued or onRejected fails: see the log.",
    "Whether a card exists is unknown: look for it, and call resolve.",
  ]);
});

it("leaves what waits in a restored backup to a person, and records the card that they found", async () => {
  const { openOutbox, readCards } = await open();
  const outbox = openOutbox();
  const cara = { id: "user-cara", name: "Cara", phone: "12" };
  await outbox.addAll([cara].map(toOwedCard));
  expect(await outbox.drain()).toMatchObject({ rejected: 1 });
  await outbox.addAll([anna, ben].map(toOwedCard));
  const guide = new URL("../../../docs/guides/outbox.md", import.meta.url);
  const [, sql = ""] = /```sql\n(.*?)```/s.exec(readFileSync(guide, "utf8")) ?? [];
  await outbox.write((database) => database.exec(sql));
  expect(await outbox.drain()).toMatchObject({
    waiting: 0,
    rejected: 0,
    unknown: 3,
  });
  const readEnds = "SELECT ended FROM issuing_outbox_entries";
  const ends = await outbox.write((database) => database.prepare(readEnds).all());
  for (const { ended } of ends as { ended: number }[]) // what the forms are erased after
    expect(Math.abs(Date.now() - ended)).toBeLessThan(60_000);
  expect(await readCards()).toEqual([]);
  await outbox.resolve(anna.id, { cardId: "card_anna" });
  await outbox.resolve(ben.id, { noCard: true });
  await outbox.resolve(cara.id, { noCard: true });
  expect(await outbox.drain()).toMatchObject({
    issued: 2,
    rejected: 1,
    unknown: 0,
  });
  expect(await readCards()).toEqual([(await outbox.get(ben.id))?.cardId]);
});

it.each([false, true])(
  "stores the card with a user in another database; the process is killed between the two: %s",
  async (isKilled) => {
    const { openOutbox, readCards } = await open();
    const saved = new Map<string, User & { cardId?: string }>();
    const users: Users = {
      async save(user) {
        saved.set(user.id, { ...user });
        if (isKilled) throw new Error("The process was killed.");
      },
      async saveCard(userId, cardId) {
        saved.set(userId, { ...(saved.get(userId) as User), cardId });
      },
      async *withoutCard() {
        yield* [...saved.values()].filter(({ cardId }) => cardId === undefined);
      },
    };
    const outbox = openOutbox();
    const signingUp = signUpBeside(users, outbox, anna);
    if (isKilled) {
      await expect(signingUp).rejects.toThrow("killed");
      expect(await outbox.get(anna.id)).toBe(undefined);
      await sweep(users, outbox);
      await outbox.drain();
    } else await signingUp;
    await sweep(users, outbox);
    expect(await readCards()).toEqual([saved.get(anna.id)?.cardId]);
  },
);

it.each([false, true])(
  "withdraws a consent to marketing before the card, and gives and withdraws it later; a request was sent: %s",
  async (isSent) => {
    const { service, client, openOutbox, readCards } = await open();
    const { templateId: template } = service;
    const outbox = openOutbox(({ userId, cardId }, database) => {
      const update = "UPDATE users SET card = ? WHERE id = ?";
      database.prepare(update).run(cardId, userId);
    });
    const { request } = toOwedCard(anna);
    const consents = {
      privacy: { version: "1" },
      marketing: { version: "1-news" },
    };
    const optedIn = { ...request, customer: { ...request.customer, consents } };
    await outbox.write((database) => {
      database.exec(
        `CREATE TABLE users (id TEXT, card TEXT, marketing INTEGER, unsent INTEGER);
         INSERT INTO users VALUES ('${anna.id}', NULL, 1, 0)`,
      );
      outbox.add(database, { userId: anna.id, template, request: optedIn });
    });
    const { id } = service.faults.add(outage);
    if (isSent) await outbox.issue(anna.id, { deadlineMs: 100 });
    await changeConsent(outbox, { userId: anna.id, template, request });
    await sendConsents(outbox, client); // there is no card yet
    service.faults.remove(id);
    await outbox.drain();

    const [cardId = ""] = await readCards();
    const readConsent = async () =>
      (await client.getConsent(cardId)).marketingConsent;
    expect(await readConsent()).toBe(isSent);
    const nowhere = { baseUrl: "http://127.0.0.1:1", apiKey: "k", maxRetries: 0 };
    const down = createIssuingClient(nowhere);
    const logError = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => logError.mockRestore());
    await sendConsents(outbox, down);
    expect(logError).toHaveBeenCalledOnce();
    await sendConsents(outbox, client);
    expect(await readConsent()).toBe(false);
    await sendConsents(outbox, down);
    expect(logError).toHaveBeenCalledOnce(); // nothing was left

    // Later, with the event that follows.
    const received: unknown[] = [];
    const receive = fetchReceiver({
      secret: () => secret,
      handler: onEvents({
        "consent.changed": ({ data }) => void received.push(data.marketingConsent),
        otherTypes: () => {},
      }),
    });
    const url = `${await listen(getRequestListener(receive))}/webhooks/loyalty`;
    const events = ["consent.changed" as const];
    const { secret } = service.webhooks.createEndpoint({ url, events });
    for (const later of [optedIn, request]) {
      await changeConsent(outbox, { userId: anna.id, template, request: later });
      await sendConsents(outbox, client);
      expect(await readConsent()).toBe(later === optedIn);
      await service.idle();
    }
    expect(received).toEqual([true, false]);
  },
);

it.each([false, true])(
  "sends a withdrawal again when an earlier opt-in took effect after it; the response was lost: %s",
  async (isLost) => {
    const { service, url, client, openOutbox, readCards } = await open();
    const outbox = openOutbox();
    const { request } = toOwedCard(anna);
    const { templateId: template } = service;
    await outbox.addAll([{ userId: anna.id, template, request }]);
    await outbox.drain();
    const [card = ""] = await readCards();
    await outbox.write((database) =>
      database.exec(
        `CREATE TABLE users (id TEXT, card TEXT, marketing INTEGER, unsent INTEGER);
         INSERT INTO users VALUES ('${anna.id}', '${card}', 1, 1)`,
      ),
    );
    const logError = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => logError.mockRestore());

    const slow = createIssuingClient({
      baseUrl: url,
      apiKey: service.apiKeys.website,
      maxRetries: 0,
      async fetch(url, init) {
        await changeConsent(outbox, { userId: anna.id, template, request }); // a withdrawal
        await sendConsents(outbox, client);
        const response = await fetch(url, init);
        if (isLost) throw new TypeError("fetch failed");
        return response;
      },
    });
    await sendConsents(outbox, slow);
    expect(await client.getConsent(card)).toMatchObject({ marketingConsent: true });
    await sendConsents(outbox, client);
    expect(await client.getConsent(card)).toMatchObject({
      marketingConsent: false,
    });
  },
);

it("sends the consents of all others when a card was deleted, whose consent it gives up", async () => {
  const { service, client, openOutbox, readCards } = await open();
  const outbox = openOutbox();
  const { request } = toOwedCard(anna);
  await outbox.addAll([{ userId: anna.id, template: service.templateId, request }]);
  await outbox.drain();
  const [card = ""] = await readCards();
  await outbox.write((database) =>
    database.exec(
      `CREATE TABLE users (id TEXT, card TEXT, marketing INTEGER, unsent INTEGER);
       INSERT INTO users VALUES ('${ben.id}', 'card_deleted', 0, 1);
       INSERT INTO users VALUES ('${anna.id}', '${card}', 1, 1)`,
    ),
  );
  const logError = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => logError.mockRestore());
  // The page of a gateway, or a wrong baseUrl, deletes no card.
  const page = async () => new Response("<h1>Not found</h1>", { status: 404 });
  const elsewhere = { baseUrl: "https://gateway.test", apiKey: "k", fetch: page };
  await sendConsents(outbox, createIssuingClient(elsewhere));
  logError.mockClear();
  await sendConsents(outbox, client);
  expect(logError.mock.calls).toEqual([
    [
      `The consent of user ${ben.id} was not sent:`,
      expect.objectContaining({ code: "not-found" }),
    ],
  ]);
  expect(await client.getConsent(card)).toMatchObject({ marketingConsent: true });
  const unsent = "SELECT * FROM users WHERE unsent";
  expect(await outbox.write((database) => database.prepare(unsent).all())).toEqual(
    [],
  );
});

it("stores the results of an import of more rows than one transaction has", async () => {
  const { folder, openOutbox } = await open();
  const outbox = openOutbox();
  const ids = Array.from({ length: 2001 }, (_, index) => String(index));
  await outbox.write((database) => {
    database.exec("CREATE TABLE users (id TEXT PRIMARY KEY, card TEXT, page TEXT)");
    const insert = database.prepare("INSERT INTO users (id) VALUES (?)");
    for (const id of ids) insert.run(id);
  });
  const file = join(folder, "members.cards.csv");
  const rows = ids.map((id) => `${id},card_${id},\n`).join("");
  writeFileSync(file, `user_id,card_id,url\n${rows}`);
  await saveCards(file, outbox);
  const stored = "SELECT count(*) AS count FROM users WHERE card = 'card_' || id";
  expect(
    await outbox.write((database) => database.prepare(stored).all()),
  ).toMatchObject([{ count: ids.length }]);

  writeFileSync(file, `user_id,card_id,url\ngone,card_gone,\n7,card_new,\n`);
  await expect(saveCards(file, outbox)).rejects.toThrow(
    "Not in the table users: gone",
  );
  await expect(saveCards(file, outbox, ";")).rejects.toThrow("got 1 on line 2");
  expect(
    await outbox.write((database) =>
      database.prepare("SELECT card FROM users WHERE id = '7'").all(),
    ),
  ).toMatchObject([{ card: "card_new" }]);
});

it("requests the card after the response, and a schedule with the secret issues what is left", async () => {
  const { openOutbox } = await open();
  const outbox = openOutbox();
  await outbox.addAll([anna, ben].map(toOwedCard));
  await outbox.issue(anna.id, { deadlineMs: 20_000 });
  expect(await outbox.count()).toMatchObject({ waiting: 1, issued: 1 });
  const print = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => print.mockRestore());
  await printWaiting(outbox);
  expect(print.mock.calls).toEqual([[ben.id, undefined]]);

  const call = (secret: string | undefined) => {
    const headers = { authorization: `Bearer ${secret}` };
    return drain(outbox, new Request("https://shop.test/drain", { headers }));
  };
  delete process.env["CRON_SECRET"];
  expect((await call("undefined")).status).toBe(401);
  process.env["CRON_SECRET"] = crypto.randomUUID();
  expect((await call("guessed")).status).toBe(401);
  const response = await call(process.env["CRON_SECRET"]);
  expect(await response.json()).toMatchObject({ waiting: 0, issued: 2 });
});

it("adds existing users without a card: with an earlier request, and without one", async () => {
  const { service, client, openOutbox, readCards } = await open();
  const template = service.templateId;
  // The card exists, and the shop got no response.
  const tried = { userId: ben.id, keySuffix: "2" };
  const bensCard = await client.issueCard(template, toOwedCard(ben).request, tried);

  const cleo = { id: "user-cleo", name: "Cleo", phone: "600100202" };
  const outbox = openOutbox();
  const users = [{ ...ben, keySuffix: "2", firstAttemptAt: new Date() }, cleo];
  const add = () => outbox.addAll(toEntries(users, template));
  expect(await add()).toEqual({ added: 2, known: 0 });
  expect(await add()).toEqual({ added: 0, known: 2 });
  await outbox.drain();
  expect(await outbox.get(ben.id)).toMatchObject({ cardId: bensCard.id });
  const { cardId } = (await outbox.get(cleo.id)) ?? {};
  expect(new Set(await readCards())).toEqual(new Set([bensCard.id, cardId]));
});

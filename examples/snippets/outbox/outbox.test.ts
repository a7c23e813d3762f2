/** The outbox's examples in the guides, run against the mock service. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { type OutboxCounts, sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { signUp as signUpBeside, sweep, type User, type Users } from "./beside.ts";
import {
  addExistingUsers,
  drain,
  findAlarms,
  issueAfterResponse,
} from "./operations.ts";

const anna = { id: "user-anna", name: "Anna", phone: "600100200" };
const ben = { id: "user-ben", name: "Ben", phone: "600100201" };
const fields = [{ key: "name", type: "name", required: true }] as const;

async function open() {
  const mock = await startMockServer({
    templates: [{ id: "tpl_coffee", name: "Coffee club", fields }],
  });
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-outbox-"));
  const client = createIssuingClient({
    baseUrl: mock.url,
    apiKey: mock.service.apiKeys.website,
  });
  const openOutbox = () => {
    const outbox = sqliteOutbox({
      client,
      file: join(folder, "outbox.db"),
      log: () => {},
    });
    onTestFinished(() => outbox.close());
    return outbox;
  };
  onTestFinished(async () => {
    rmSync(folder, { recursive: true });
    await mock.close();
  });
  const readCards = async () => {
    const response = await fetch(`${mock.url}/_mock/cards`);
    const { items } = (await response.json()) as { items: { id: string }[] };
    return items.map(({ id }) => id);
  };
  return { mock, service: mock.service, folder, client, openOutbox, readCards };
}

it("signs a user up on one machine, stores the card with the user, and corrects a rejected form", async () => {
  const { mock, folder, readCards } = await open();
  const { apiKeys, templateId } = mock.service;
  const settings = {
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: apiKeys.website,
    LOYALTY_TEMPLATE_ID: templateId,
  };
  Object.assign(process.env, settings);
  const before = process.cwd();
  process.chdir(folder); // the file is in the current folder
  const { outbox, signUp, correct } = await import("./one-machine.ts");
  process.chdir(before);
  onTestFinished(() => outbox.close());
  const { state, cardId } = await signUp(anna);
  expect(state).toBe("issued");
  const readUsers = () =>
    outbox.write((database) =>
      database.prepare("SELECT id, card FROM users").all(),
    );
  expect(await readUsers()).toMatchObject([{ id: anna.id, card: cardId }]);

  expect(await signUp({ ...ben, phone: "12" })).toMatchObject({
    state: "rejected",
    error: {
      userMessage: "The phone number is not valid.",
      fields: [{ pointer: "/customer/phone" }],
    },
  });
  const corrected = await correct(ben);
  expect(await readUsers()).toMatchObject([
    { card: cardId },
    { id: ben.id, card: corrected.cardId },
  ]);
  expect(await readCards()).toHaveLength(2);
});

describe("findAlarms", () => {
  const nowMs = Date.UTC(2026, 10, 23, 12);
  const at = (hours: number) => new Date(nowMs + hours * 3_600_000);
  const counts: OutboxCounts = {
    waiting: 3,
    issued: 9,
    rejected: 1,
    unknown: 0,
    undelivered: 0,
    paused: [],
  };

  it.each<[string, Partial<OutboxCounts>, string[]]>([
    ["nothing", { oldestWaitingAt: at(-1), nextExpiryAt: at(6) }, []],
    [
      "an old entry",
      { oldestWaitingAt: at(-1.01) },
      ["A card has been waiting for more than an hour."],
    ],
    [
      "an entry that expires",
      { nextExpiryAt: at(5.99) },
      ["Within six hours an entry becomes unknown."],
    ],
    [
      "a callback",
      { undelivered: 1 },
      ["onIssued or onRejected fails: see the log."],
    ],
    [
      "an unknown entry",
      { unknown: 1 },
      ["Whether a card exists is unknown: look for it, and call resolve."],
    ],
    [
      "a pause",
      { paused: [{ reason: "server", template: "tpl_coffee", since: at(0) }] },
      ["Cards of tpl_coffee wait: server"],
    ],
  ])("finds %s", (_name, changes, alarms) => {
    expect(findAlarms({ ...counts, ...changes }, nowMs)).toEqual(alarms);
  });
});

describe("an outbox beside another database", () => {
  function createUsers(afterSave = () => {}) {
    const saved = new Map<string, User & { cardId?: string }>();
    const users: Users = {
      async save(user) {
        saved.set(user.id, { ...user });
        afterSave();
      },
      async saveCard(userId, cardId) {
        saved.set(userId, { ...(saved.get(userId) as User), cardId });
      },
      async *withoutCard() {
        yield* [...saved.values()].filter(({ cardId }) => cardId === undefined);
      },
    };
    return { saved, users };
  }

  it("stores the card with the user", async () => {
    const { openOutbox } = await open();
    const { saved, users } = createUsers();
    const { cardId } = await signUpBeside(users, openOutbox(), anna);
    expect(saved.get(anna.id)?.cardId).toBe(cardId);
  });

  it("heals a crash between saving the user and adding the entry: the sweep leads to one card", async () => {
    const { openOutbox, readCards } = await open();
    const { saved, users } = createUsers(() => {
      throw new Error("The process was killed.");
    });
    const killed = openOutbox();
    await expect(signUpBeside(users, killed, anna)).rejects.toThrow("killed");
    await killed.close();

    const outbox = openOutbox();
    expect(await outbox.get(anna.id)).toBe(undefined);
    await sweep(users, outbox);
    await outbox.drain();
    await sweep(users, outbox);
    await sweep(users, outbox);
    expect(await readCards()).toEqual([saved.get(anna.id)?.cardId]);
  });
});

it("requests the card after the response, and a schedule with the secret issues what is left", async () => {
  const { service, openOutbox } = await open();
  const outbox = openOutbox();
  const template = service.templateId;
  const request = {
    fieldValues: { name: "Anna" },
    customer: { consents: { privacy: { version: "1" } } },
  };
  await outbox.addAll(
    [anna, ben].map(({ id }) => ({ userId: id, template, request })),
  );
  const afterResponse: Promise<unknown>[] = [];
  issueAfterResponse(outbox, anna.id, (work) => void afterResponse.push(work()));
  await Promise.all(afterResponse);
  expect(await outbox.count()).toMatchObject({ waiting: 1, issued: 1 });

  process.env["CRON_SECRET"] = crypto.randomUUID();
  const call = (secret: string | undefined) =>
    drain(
      outbox,
      new Request("https://shop.test/drain", {
        headers: { authorization: `Bearer ${secret}` },
      }),
    );
  expect((await call("guessed")).status).toBe(401);
  const response = await call(process.env["CRON_SECRET"]);
  expect(await response.json()).toMatchObject({ waiting: 0, issued: 2 });
});

it("adds existing users without a card: with an earlier request, and without one", async () => {
  const { service, client, openOutbox, readCards } = await open();
  const template = service.templateId;
  const toRequest = ({ name, phone }: User) => ({
    fieldValues: { name },
    customer: { name, phone, consents: { privacy: { version: "2026-01" } } },
  });
  // The card exists, and the shop got no response.
  const bensCard = await client.issueCard(template, toRequest(ben), {
    userId: ben.id,
    keySuffix: "2",
  });

  const cleo = { id: "user-cleo", name: "Cleo", phone: "600100202" };
  const outbox = openOutbox();
  const users = [{ ...ben, keySuffix: "2", firstAttemptAt: new Date() }, cleo];
  expect(await addExistingUsers(outbox, users, template)).toEqual({
    added: 2,
    known: 0,
  });
  expect(await addExistingUsers(outbox, users, template)).toEqual({
    added: 0,
    known: 2,
  });
  await outbox.drain();
  expect(await outbox.get(ben.id)).toMatchObject({ cardId: bensCard.id });
  const { cardId } = (await outbox.get(cleo.id)) ?? {};
  expect(new Set(await readCards())).toEqual(new Set([bensCard.id, cardId]));
});

/** What each shop does at a sign-up, with the mock service on a port. The pages of Next are tested in a browser by `npm run compat -- next`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, type RequestListener, request } from "node:http";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { CardLinks } from "@loyalty-cards/issuing-client";
import { freePort } from "@loyalty-cards/testing/free-port";
import { listen, scratchFile } from "@loyalty-cards/testing/resources";
import { hasPostgres, ownSchema } from "@loyalty-cards/testing/servers";
import {
  secret as eventSecret,
  signedDelivery,
} from "@loyalty-cards/testing/signed-delivery";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import fastify from "fastify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { findLine, fromSource } from "./commands/shell.ts";
import { openShop } from "./express/shop.ts";
import { addSignUp } from "./fastify/sign-up.ts";
import { prepare } from "./fastify/tables.ts";
import { loyalty, start } from "./next/shop/loyalty";
import { signUp as signUpOnNext } from "./next/shop/sign-up";
import { coffeeClub, openService, outage } from "./test/service.ts";

// While the service fails, a sign-up waits five seconds, and the card follows some seconds later.
vi.setConfig({ testTimeout: 60_000, expect: { poll: { timeout: 50_000 } } });

const open = (storeRefusals = true) =>
  openService({ templates: [coffeeClub], storeRefusals });
type Service = Awaited<ReturnType<typeof open>>;

type Form = Partial<Record<"name" | "phone" | "email", string>> & {
  marketing?: boolean;
};
interface Response {
  status: number | undefined;
  userId: string;
  message?: string;
  links?: CardLinks;
}
interface Shop {
  signUp(form: Form): Promise<Response>;
  correct(userId: string, form: Form): Promise<Response>;
  readUsers(): Promise<{ name: string; card: string | null }[]>;
}

async function openExpress({ client, service }: Service) {
  let app: RequestListener | undefined;
  const url = await listen((request, response) => app?.(request, response));
  const { secret } = service.webhooks.createEndpoint({
    url: `${url}/webhooks/loyalty`,
    events: ["balance.changed", "tier.changed", "consent.changed", "card.added"],
  });
  const template = service.templateId;
  const shop = await openShop({ client, template, secret, file: scratchFile() });
  app = shop.app;
  onTestFinished(shop.close);
  async function send(method: string, path: string, form: Form) {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, body: JSON.stringify(form) };
    const response = await fetch(url + path, init);
    return { status: response.status, ...((await response.json()) as object) };
  }
  return {
    signUp: (form) => send("POST", "/sign-up", form),
    correct: (userId, form) => send("PUT", `/users/${userId}`, form),
    readUsers: () =>
      shop.outbox.write((database) =>
        database.prepare("SELECT name, card FROM users").all(),
      ),
    outbox: shop.outbox,
    readWaiting: () =>
      shop.outbox.write((database) =>
        database
          .prepare("SELECT * FROM webhook_inbox_events WHERE state = 'waiting'")
          .all(),
      ),
    readUser: async (id: string) => (await fetch(`${url}/users/${id}`)).json(),
    changeConsent: async (id: string, marketing?: boolean) => {
      const headers = { "content-type": "application/json" };
      const init = { method: "PUT", headers, body: JSON.stringify({ marketing }) };
      return (await fetch(`${url}/users/${id}/consent`, init)).status;
    },
    deliver: async (event: { type: string }) => {
      const init = { method: "POST", ...signedDelivery(event, { key: secret }) };
      return (await fetch(`${url}/webhooks/loyalty`, init)).status;
    },
  } as Shop & {
    readUser(id: string): Promise<unknown>;
    changeConsent(id: string, marketing?: boolean): Promise<number>;
    outbox: typeof shop.outbox;
    deliver(event: { type: string }): Promise<number>;
    readWaiting(): Promise<unknown[]>;
  };
}

async function openFastify(
  { client, service }: Service,
  { pool: createPool, schema }: ReturnType<typeof ownSchema>,
): Promise<Shop> {
  const pool = createPool();
  await pool.query(`DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}`);
  await prepare(pool);
  const apps = [fastify(), fastify()]; // two processes
  for (const app of apps) addSignUp(app, client, pool, service.templateId);
  onTestFinished(async () => {
    await Promise.all(apps.map((app) => app.close()));
  });
  let turn = 0;
  async function send(method: "POST" | "PUT", url: string, payload: Form) {
    const response = await apps[turn++ % 2]?.inject({ method, url, payload });
    return { status: response?.statusCode, ...response?.json() };
  }
  return {
    signUp: (form) => send("POST", "/sign-up", form),
    correct: (userId, form) => send("PUT", `/users/${userId}`, form),
    readUsers: async () => (await pool.query("SELECT name, card FROM users")).rows,
  };
}

async function openNext({ setEnvironment }: Service): Promise<Shop> {
  setEnvironment();
  const SHOP_FILE = scratchFile();
  Object.assign(process.env, { SHOP_FILE, LOYALTY_SIGNING_SECRET: "not used" });
  await start();
  const { outbox, inbox } = loyalty();
  onTestFinished(async () => {
    await outbox.close();
    await inbox.close();
    Object.assign(globalThis, { loyalty: undefined }); // the next test opens another
  });
  async function signUp({
    name = "",
    phone = "",
    email = "",
  }: Form): Promise<Response> {
    const form = new FormData();
    const formId = crypto.randomUUID();
    const values = { name, phone, email, privacy: "2026-01", formId };
    for (const [key, value] of Object.entries(values)) form.set(key, value);
    const result = await signUpOnNext(form);
    if ("state" in result) {
      const { email, ...others } = result.state.errors;
      const status = email === undefined ? 422 : 409;
      return { status, userId: "", message: Object.values(others).join() };
    }
    const userId = result.memberId;
    const { cardId } = (await outbox.get(userId)) ?? {};
    return { status: cardId === undefined ? 202 : 201, userId };
  }
  return {
    signUp,
    correct: (_userId, form) => signUp(form), // with the form of another page
    readUsers: () =>
      outbox.write((database) =>
        database.prepare("SELECT name, card_id AS card FROM members").all(),
      ) as ReturnType<Shop["readUsers"]>,
  };
}

const anna = { name: "Anna", phone: "600100200", email: "anna@example.com" };
const ben = { name: "Ben", phone: "600100201", email: "ben@example.com" };

/** The users, with the name on the card of each. */
const readNames = async (shop: Shop, { service }: Service) =>
  (await shop.readUsers())
    .map(({ name, card }) => [
      name,
      card && service.cards.get(card).fieldValues.name,
    ])
    .sort();

function testSignUp(openExample: (service: Service) => Promise<Shop>) {
  it("issues a card to each person, whose form has only a phone, only an email, or neither", async () => {
    const service = await open();
    const shop = await openExample(service);
    const forms = [anna, ben].flatMap(({ name, phone, email }) => [
      { name, phone },
      { name, email },
      { name },
    ]);
    for (const form of forms)
      expect(await shop.signUp(form)).toMatchObject({ status: 201 });
    expect(await readNames(shop, service)).toEqual([
      ...[1, 2, 3].map(() => ["Anna", "Anna"]),
      ...[1, 2, 3].map(() => ["Ben", "Ben"]),
    ]);
    expect(new Set(await service.readCards()).size).toBe(6);
  });

  // G27
  it.each([true, false])(
    "keeps the user after a 422, and issues one card to the corrected form; the service stores refusals: %s",
    async (storeRefusals) => {
      const service = await open(storeRefusals);
      const shop = await openExample(service);
      expect((await shop.signUp(anna)).status).toBe(201);
      const refused = await shop.signUp({ ...ben, phone: "12" });
      const message = "The phone number is not valid.";
      expect(refused).toMatchObject({ status: 422, message });
      const names = () => readNames(shop, service);
      expect(Object.fromEntries(await names())).toEqual({
        Anna: "Anna",
        Ben: null,
      });
      const correct = async (form: Form) =>
        (await shop.correct(refused.userId, form)).status;
      const other = { ...anna, email: "ANNA@example.com" }; // the same address
      expect(await correct({ ...ben, email: other.email })).toBe(409);
      expect(await correct(ben)).toBe(201);
      expect(await correct(ben)).toBe(409);
      expect((await shop.signUp(other)).status).toBe(409); // the email is taken
      expect(Object.fromEntries(await names())).toEqual({
        Anna: "Anna",
        Ben: "Ben",
      });
      expect(await service.readCards()).toHaveLength(2);
    },
  );

  it("says that the rejected form may still be processed after a response that leaves this open, and saves no other", async () => {
    const service = await open();
    const shop = await openExample(service);
    service.service.faults.add({ ...outage, phase: "before", times: 1 });
    const refused = await shop.signUp({ ...ben, phone: "12" });
    expect(refused).toMatchObject({ status: 422 });
    const corrected = { ...ben, name: "Benjamin" };
    const { message } = await shop.correct(refused.userId, corrected);
    expect(message).toMatch(/^Your earlier form may still be processed\./);
    expect(await readNames(shop, service)).toEqual([["Ben", null]]);
  });

  // G10
  it("signs people up while the service fails, and issues one card to each later", async () => {
    const service = await open();
    const shop = await openExample(service);
    const { id } = service.service.faults.add(outage);
    const names = ["Cleo", "Dan", "Eve", "Finn"];
    const responses = await Promise.all(names.map((name) => shop.signUp({ name })));
    expect(responses.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    service.service.faults.remove(id);
    await expect
      .poll(() => readNames(shop, service))
      .toEqual(names.map((name) => [name, name]));
    expect(await service.readCards()).toHaveLength(4);
    const requests = service.service.requests();
    expect(requests.flatMap(({ warnings }) => warnings)).toEqual([]);
  });
}

describe("Next", () => {
  testSignUp(openNext);

  it("ends the session of a form that is rejected later when somebody else signs up with its email", async () => {
    const service = await open();
    const shop = await openNext(service);
    const { outbox } = loyalty();
    const { faults } = service.service;
    const { id } = faults.add({ phase: "before", kind: "status", status: 429 });
    const first = await shop.signUp({ ...ben, phone: "12" });
    expect(first.status).toBe(202);
    const insert = "INSERT INTO sessions VALUES ('1', ?, 0)";
    await outbox.write((database) => database.prepare(insert).run(first.userId));
    faults.remove(id);
    const readState = async () => (await outbox.get(first.userId))?.state;
    await expect.poll(readState).toBe("rejected");
    expect(await shop.signUp(ben)).toMatchObject({ status: 201 });
    const select = "SELECT member_id FROM sessions";
    const readSessions = () =>
      outbox.write((database) => database.prepare(select).all());
    expect(await readSessions()).toEqual([]);
  });

  it("does not count a consent as given that is neither true nor false", async () => {
    await openNext(await open());
    const { inbox } = loyalty();
    const data = { marketingConsent: "withdrawn", passIds: ["card_1"] };
    const createdAt = new Date().toISOString();
    const event = { id: "evt_1", type: "consent.changed", createdAt, data };
    const init = { method: "POST", ...signedDelivery(event) };
    const receive = fetchReceiver({ secret: eventSecret, inbox });
    const { status } = await receive(new Request("https://shop.test", init));
    expect(status).toBe(204);
    const select = "SELECT id, consent FROM cards";
    const readCards = () =>
      inbox.write((database) => database.prepare(select).all());
    await expect.poll(readCards).toEqual([{ id: "card_1", consent: 0 }]);
  });
});

describe.skipIf(!(await hasPostgres()))("Fastify, in two processes", () => {
  const schema = ownSchema();
  testSignUp((service) => openFastify(service, schema));

  it("responds 400 to a form without a name, and 404 when an unknown user corrects one", async () => {
    const { signUp, correct } = await openFastify(await open(), schema);
    expect(await correct("nobody", ben)).toMatchObject({ status: 404 });
    expect(await signUp({ phone: "600100200" } as Form)).toMatchObject({
      status: 400,
    });
  });
});

describe("Express", () => {
  testSignUp(openExpress);

  it("shows the balance, the level, the history, the wallets and the consent of the events", async () => {
    const service = await open();
    const { signUp, readUser, readUsers } = await openExpress(service);
    const { userId, links } = await signUp({ ...anna, marketing: true });
    const card = (await readUsers())[0]?.card ?? "";
    const { cards, idle } = service.service;
    expect(links?.page).toBe(cards.get(card).publicUrl);
    const code = links?.page.split("/").at(-1);
    const qrCode = expect.stringContaining("<svg");
    const user = { name: "Anna", state: "issued", links, qrCode, code };
    const marketing = 1;
    const atFirst = {
      balance: 0,
      level: null,
      history: [],
      wallets: [],
      marketing,
    };
    expect(await readUser(userId)).toEqual({ ...user, ...atFirst });
    const consent = await service.client.getConsent(card);
    expect(consent).toMatchObject({ marketingConsent: true });

    cards.purchase(card, { points: 120 });
    await idle(); // two events of one millisecond have no order
    cards.redeem(card, { points: 20 });
    await service.client.setConsent(card, { marketing: false });
    cards.addToWallet(card, "apple");
    const at = expect.any(String);
    const history = [
      { at, change: -20, level: null },
      { at, change: null, level: "Silver" },
      { at, change: 120, level: null },
    ];
    const wallets = [{ wallet: "apple" }];
    const later = { balance: 100, level: "Silver", history, wallets, marketing: 0 };
    await expect.poll(() => readUser(userId)).toEqual({ ...user, ...later });
  });

  it("lets a user correct a form that is rejected later", async () => {
    const service = await open();
    const { signUp, correct, readUser } = await openExpress(service);
    const { faults } = service.service;
    const { id } = faults.add({ phase: "before", kind: "status", status: 429 });
    const { userId } = await signUp({ ...ben, phone: "12" });
    expect(await readUser(userId)).toMatchObject({ state: "waiting" });
    faults.remove(id);
    await expect.poll(() => readUser(userId)).toMatchObject({ state: "rejected" });
    expect(await correct(userId, ben)).toMatchObject({ status: 201 });
    expect(await correct("nobody", anna)).toMatchObject({ status: 404 });
  });

  it("shows the card that a person found for an unknown entry", async () => {
    const service = await open();
    const { outbox, readUser } = await openExpress(service);
    const customer = { consents: { privacy: { version: "1" } } };
    const request = { fieldValues: { name: "Anna" }, customer };
    const template = service.service.templateId;
    const firstAttemptAt = new Date(Date.now() - 25 * 3_600_000);
    await outbox.write((database) => {
      const insert = "INSERT INTO users (id, name) VALUES ('u1', 'Anna')";
      database.prepare(insert).run();
      outbox.add(database, { userId: "u1", template, request, firstAttemptAt });
    });
    await outbox.issue("u1", { deadlineMs: 5_000 });
    expect(await readUser("u1")).toMatchObject({ state: "unknown" });
    const elsewhere = { userId: "elsewhere" };
    const card = await service.client.issueCard(template, request, elsewhere);
    await outbox.resolve("u1", { cardId: card.id });
    const { id } = service.service.faults.add({ ...outage, phase: "before" });
    expect(await readUser("u1")).toMatchObject({ name: "Anna", state: "issued" });
    service.service.faults.remove(id);
    const links = expect.anything();
    await expect.poll(() => readUser("u1")).toMatchObject({ links });
    service.service.faults.add({ ...outage, phase: "before" });
    expect(await readUser("u1")).toMatchObject({ links }); // read once
  });

  it("ends the running requests at SIGTERM, and then the shop, although a page reads again and again", async () => {
    const { service, setEnvironment } = await open();
    setEnvironment();
    const PORT = String(await freePort());
    const SHOP_FILE = scratchFile();
    const env = {
      ...process.env,
      PORT,
      SHOP_FILE,
      LOYALTY_SIGNING_SECRET: "not used",
    };
    const main = fileURLToPath(new URL("express/main.ts", import.meta.url));
    const shop = spawn(process.execPath, [...fromSource, main], { env });
    onTestFinished(() => void shop.kill("SIGKILL"));
    await findLine(shop, /listens/);
    let isEnded = false;
    const ended = once(shop, "exit").finally(() => {
      isEnded = true;
    });
    const delayMs = 2_000;
    service.faults.add({ phase: "before", kind: "latency", delayMs, times: 1 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const send = async (method: string, path: string, body = "") => {
      const headers = { "content-type": "application/json" };
      const options = { port: PORT, agent, method, path, headers };
      const [response] = await once(request(options).end(body), "response");
      response.resume();
      return response.statusCode;
    };
    const status = send("POST", "/sign-up", JSON.stringify(anna));
    await expect.poll(() => service.faults.list()).toEqual([]); // the request runs
    shop.kill("SIGTERM");
    expect(await status).toBe(201);
    while (!isEnded) {
      await send("GET", "/users/nobody").catch(() => {});
      await setTimeout(500); // as the page does
    }
    expect(await ended).toEqual([0, null]);
  });

  it("gives and withdraws the consent of a card that is issued", async () => {
    const service = await open();
    const { signUp, readUser, changeConsent } = await openExpress(service);
    const { userId } = await signUp(anna);
    for (const marketing of [true, false]) {
      expect(await changeConsent(userId, marketing)).toBe(204);
      const stored = { marketing: Number(marketing) };
      await expect.poll(() => readUser(userId)).toMatchObject(stored);
    }
    service.service.faults.add({ ...outage, phase: "before" });
    expect(await changeConsent(userId, true)).toBe(503);
    expect(await changeConsent("nobody", true)).toBe(404);
    expect(await changeConsent(userId)).toBe(400);
    expect(await readUser(userId)).toMatchObject({ marketing: 0 });
  });

  it("handles a wallet event that names no wallet", async () => {
    const { signUp, readUsers, readWaiting, deliver } = await openExpress(
      await open(),
    );
    await signUp(anna);
    const data = { passId: (await readUsers())[0]?.card };
    const createdAt = new Date().toISOString();
    for (const type of ["card.added", "card.removed"]) {
      const event = { id: `evt_${type}`, type, createdAt, data };
      expect(await deliver(event)).toBe(204);
    }
    await expect.poll(readWaiting).toEqual([]);
  });

  it("does not count a consent as given that is neither true nor false", async () => {
    const service = await open();
    const { signUp, readUser, readUsers, deliver } = await openExpress(service);
    const { userId } = await signUp({ ...anna, marketing: true });
    expect(await readUser(userId)).toMatchObject({ marketing: 1 });
    const data = {
      marketingConsent: "withdrawn",
      passIds: [(await readUsers())[0]?.card],
    };
    const createdAt = new Date().toISOString();
    const event = { id: "evt_z", type: "consent.changed", createdAt, data };
    expect(await deliver(event)).toBe(204);
    await expect.poll(() => readUser(userId)).toMatchObject({ marketing: 0 });
  });

  // G9
  it("issues separate cards to people who join after the database was lost", async () => {
    const service = await open();
    await (await openExpress(service)).signUp(anna);
    const after = await openExpress(service);
    await after.signUp(ben);
    expect(await readNames(after, service)).toEqual([["Ben", "Ben"]]);
    expect(await service.readCards()).toHaveLength(2);
  });
});

/** A service that keeps its data: over restarts, over kills at any moment, and over what a file can be. */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type MockServer, type MockServerOptions, startMockServer } from "../../src/hosts/node.ts";
import { manualClock } from "../../src/index.ts";
import { caller, noon, signUp, template } from "../shop.ts";
import { start, temporaryFolder } from "./command.ts";

const temporaryData = () => join(temporaryFolder(), "data.json");

async function open(options: MockServerOptions) {
  const server = await startMockServer({ templates: [template], ...options });
  onTestFinished(server.close);
  const call = caller(server.url, fetch, server.service.apiKeys.website);
  return {
    ...server,
    call,
    issue: (body: unknown) => call("POST", `/api/v1/templates/${template.id}/passes`, { body }),
  };
}

it("everything is there after a restart: cards, keys, worlds, secrets, the clock, what is still to be delivered", async () => {
  const data = temporaryData();
  const failing = () => new Response(null, { status: 500 });
  const endpoints = [{ url: "https://shop.test/", events: ["balance.changed" as const] }];
  const before = await open({ data, clock: manualClock(noon), deliver: failing, endpoints });
  const { body: card } = await before.issue(signUp({ phone: "+48600100200" }));
  const world = before.service.worlds.create();
  world.templates.create({ id: "tpl_world", name: "World" });
  before.service.cards.purchase(card.id, { points: 12 });
  await before.service.clock.advance("2m");
  await before.close();

  let hasArrived = false;
  const deliver = () => {
    hasArrived = true;
    return new Response(null, { status: 204 });
  };
  const after = await open({ data, deliver, templates: [{ name: "Ignored" }] });
  expect((await after.call("GET", `/api/v1/passes/${card.id}`)).body).toMatchObject({ loyaltyBalance: 12 });
  expect((await after.issue(signUp({ phone: "600 100 200" }))).body.customerId).toBe(card.customerId);
  expect(after.service.templateId).toBe(template.id);
  expect(after.service.endpoints).toEqual(before.service.endpoints);
  expect([after.service.clock.setting().mode, after.service.clock.now()]).toEqual(["manual", noon + 120_000]);
  expect((await after.call("GET", "/api/v1/passes/card_1", { key: world.apiKeys.full })).status).toBe(404);
  expect(after.service.worlds.list().map(({ worldId }) => worldId)).toEqual(["default", world.worldId]);
  expect(await after.service.clock.runUntilIdle()).toMatchObject([{ status: 204 }]);
  expect([hasArrived, after.service.webhooks.deliveries()[0]?.attempts.length]).toEqual([true, 3]);
  after.service.reset();
  expect(after.service.endpoints).toEqual(before.service.endpoints);
});

it("status, expired points and changed endpoints are there after a restart, deleted endpoints are not", async () => {
  const data = temporaryData();
  const failing = () => new Response(null, { status: 500 });
  const before = await open({ data, clock: manualClock(noon), deliver: failing });
  const { body } = await before.issue(signUp({ email: "müller@bücher.example" }));
  const { webhooks, cards } = before.service;
  const endpoint = (url: string) => webhooks.createEndpoint({ url, events: ["ping"] });
  const [kept, deleted] = [endpoint("https://shop.test/1"), endpoint("https://shop.test/2")];
  webhooks.sendTest(deleted.id);
  await before.service.idle();
  webhooks.updateEndpoint(kept.id, { url: "https://shop.test/moved" });
  webhooks.deleteEndpoint(deleted.id);
  cards.purchase(body.id, { points: 20 });
  cards.expire(body.id, { points: 15, keepBalance: true });
  cards.setStatus(body.id, "blocked");
  await before.close();

  const after = await open({ data, deliver: failing });
  expect(after.service.cards.get(body.id)).toMatchObject({ status: "blocked", loyaltyTier: null });
  after.service.cards.purchase(body.id, { points: 4 });
  expect(after.service.cards.get(body.id)).toMatchObject({ loyaltyBalance: 24, loyaltyTier: null });
  const { items } = (await after.call("GET", "/_mock/webhooks/endpoints", { key: null })).body;
  expect(items).toEqual([{ id: kept.id, url: "https://shop.test/moved", events: ["ping"] }]);
  expect(after.service.webhooks.deliveries()).toMatchObject([{ state: "failed" }]);
  expect(await after.service.clock.runUntilIdle()).toEqual([]);
  const again = await after.issue(signUp({ email: "Müller@xn--bcher-kva.example" }));
  expect(again.body.customerId).toBe(body.customerId);
});

it("stored refusals and warnings are there after a restart", async () => {
  const data = temporaryData();
  const withKey = (body: unknown) => ({ body, headers: { "idempotency-key": "user-1" } });
  const path = `/api/v1/templates/${template.id}/passes`;
  const settings = { data, storeRefusals: true, log: () => {} };
  const before = await open(settings);
  expect((await before.call("POST", path, withKey(signUp({}, {})))).status).toBe(422);
  expect((await before.call("POST", path, withKey(signUp({ name: "Anna" })))).status).toBe(422);
  await before.close();
  const after = await open(settings);
  expect(after.service.warnings()).toEqual(before.service.warnings());
  expect((await after.call("POST", path, withKey(signUp()))).status).toBe(422);
  expect(after.service.warnings()).toHaveLength(2);
});

const options = (data: string) => ["--port", "0", "--json", "--data", data];

interface Ready {
  baseUrl: string;
  apiKeys: { website: string };
  templateId: string;
}

/** Starts the command on a file, as a process of its own. */
async function startOn(data: string) {
  const process = start(...options(data));
  const ready: Ready = JSON.parse(await process.firstOutput);
  const call = caller(ready.baseUrl, fetch, ready.apiKeys.website);
  const path = `/api/v1/templates/${ready.templateId}/passes`;
  return { ...process, ...ready, call, issue: () => call("POST", path, { body: signUp({}, {}) }) };
}

async function cardIdsOf(call: ReturnType<typeof caller>): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let total = 1, offset = 0; offset < total; offset += 100) {
    const { body } = await call("GET", `/_mock/cards?limit=100&offset=${offset}`, { key: null });
    for (const { id } of body.items) ids.add(id);
    total = body.total;
  }
  return ids;
}

it("every card that was answered is there, wherever SIGKILL falls, twenty times", {
  timeout: 300_000,
}, async () => {
  const data = temporaryData();
  const answered: string[] = [];
  for (let round = 0; round <= 20; round++) {
    const { child, exit, call, issue } = await startOn(data);
    const there = await cardIdsOf(call);
    expect(answered.filter((id) => !there.has(id))).toEqual([]);
    if (round === 20) break;
    // Killed while several callers write; at which card is chance.
    const last = answered.length + 10 + Math.floor(Math.random() * 60);
    const visitor = async () => {
      for (;;) {
        answered.push((await issue()).body.id);
        if (answered.length >= last) child.kill("SIGKILL");
      }
    };
    await Promise.allSettled(Array.from({ length: 4 }, visitor));
    await exit;
  }
  expect(answered.length).toBeGreaterThan(200);
});

describe("a second server on one file", () => {
  it("refuses to start and names the first, until that one is killed", { timeout: 60_000 }, async () => {
    const data = temporaryData();
    const first = await startOn(data);
    const { body: card } = await first.issue();
    const link = `${data}.link`;
    symlinkSync(data, link);
    for (const name of [data, link]) {
      const { code, stderr } = await start(...options(name)).exit;
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`process ${first.child.pid} has it, at ${first.baseUrl} since 20`),
      ]);
      expect(stderr).toContain(`--data ${name} cannot be used`);
    }
    await expect(startMockServer({ data })).rejects.toThrow(first.baseUrl);
    const { body: later } = await first.issue();
    first.child.kill("SIGKILL");
    await first.exit;
    const second = await startOn(data);
    expect(await cardIdsOf(second.call)).toEqual(new Set([card.id, later.id]));
    second.child.kill("SIGTERM");
    expect((await second.exit).code).toBe(0);
    expect(existsSync(`${data}.lock`)).toBe(false);
  });

  it("refuses in the same process too, and starts when the first is closed", async () => {
    const data = temporaryData();
    const first = await open({ data });
    await expect(startMockServer({ data })).rejects.toThrow(`process ${process.pid} has it, at ${first.url}`);
    await first.close();
    await open({ data });
  });

  it("starts at the same moment: one serves, and the others name it", { timeout: 60_000 }, async () => {
    const data = temporaryData();
    const servers = Array.from({ length: 4 }, () => start(...options(data)));
    const outcomes = await Promise.all(
      servers.map(({ firstOutput, exit }) => Promise.race([firstOutput, exit.then(({ stderr }) => stderr)])),
    );
    expect(outcomes.filter((text) => text.startsWith("{"))).toHaveLength(1);
    expect(outcomes.filter((text) => /has it/.test(text))).toHaveLength(3);
  });

  it("does not take another process for the dead one that had its number", async () => {
    const data = temporaryData();
    const { close } = await open({ data });
    const [entry = ""] = readdirSync(`${data}.lock`);
    await close();
    const [pid, ticks, ...rest] = entry.split("_");
    mkdirSync(`${data}.lock`);
    writeFileSync(
      join(`${data}.lock`, [pid, `${ticks}0`, ...rest].join("_")),
      '{"url":"http://127.0.0.1:1"}',
    );
    await open({ data });
    expect(readdirSync(`${data}.lock`)).toHaveLength(1);
  });

  it("from another container waits for a sign of life", async () => {
    const data = temporaryData();
    mkdirSync(`${data}.lock`);
    const entry = join(`${data}.lock`, "1_5_elsewhere_abc");
    writeFileSync(entry, '{"url":"http://cards:4010","since":"2026-01-01T00:00:00.000Z"}');
    const beat = setInterval(() => utimesSync(entry, new Date(), Date.now() / 1000), 200);
    onTestFinished(() => clearInterval(beat));
    await expect(startMockServer({ data })).rejects.toThrow(
      /process 1 has it, at http:\/\/cards:4010 since 2026/,
    );
    clearInterval(beat);
    await open({ data });
  });
});

it("a draft that a kill left behind is nobody's state", async () => {
  const data = temporaryData();
  const { issue, close } = await open({ data });
  const { body } = await issue(signUp());
  await close();
  writeFileSync(`${data}.tmp`, '{"format":"half');
  const { call } = await open({ data });
  expect((await call("GET", `/api/v1/passes/${body.id}`)).status).toBe(200);
});

it("a last line that a kill cut off was not answered, and does no harm", async () => {
  const data = temporaryData();
  const first = await open({ data });
  const { body: before } = await first.issue(signUp());
  const { size } = statSync(data);
  const { body: cut } = await first.issue(signUp());
  await first.close();
  truncateSync(data, size + 40);
  const second = await open({ data });
  expect((await second.call("GET", `/api/v1/passes/${before.id}`)).status).toBe(200);
  expect((await second.call("GET", `/api/v1/passes/${cut.id}`)).status).toBe(404);
  const { body: after } = await second.issue(signUp());
  await second.close();
  const third = await open({ data });
  expect(await cardIdsOf(third.call)).toEqual(new Set([before.id, after.id]));
});

it("a file that cannot be used is named, and left as it is", async () => {
  const data = temporaryData();
  const { issue, close } = await open({ data });
  for (let count = 0; count < 3; count++) await issue(signUp());
  await close();
  const lines = readFileSync(data, "utf8").split("\n");
  const damaged = (line: string) => [...lines.slice(0, 3), line, ...lines.slice(4)].join("\n");
  for (const [content, message] of [
    [damaged('{"world":'), /line 4 is damaged: it is not JSON/],
    [damaged("7"), /line 4 is damaged: it is no record/],
    [damaged("{}"), /line 4 is damaged: it names no world/],
    [
      damaged('{"world":{"id":"default","apiKeys":{},"clock":{}},"put":{"cards":[{}]}}'),
      /one of its cards has no id/,
    ],
    [lines[0] ?? "", /has no first world/],
    ["", /it is empty/],
    ["hello", /it is not JSON/],
    ['{"a":1}\n', /not a file that mock-server --data wrote/],
    [
      JSON.stringify({ format: "loyalty-cards mock-server", version: 99, worlds: [{}] }),
      /version 99, and this program reads versions 1 and 2/,
    ],
  ] as const) {
    writeFileSync(data, content);
    await expect(startMockServer({ data }), content).rejects.toThrow(message);
    await expect(startMockServer({ data }), content).rejects.toThrow(`--data ${data} cannot be used`);
    expect([readFileSync(data, "utf8"), existsSync(`${data}.lock`)]).toEqual([content, false]);
  }
  await expect(startMockServer({ data: join(data, "..", "none", "data.json") })).rejects.toThrow(/ENOENT/);
});

it("a file of the version before is read", async () => {
  const data = temporaryData();
  const card = {
    id: "card_1",
    slug: "slug1",
    templateId: "tpl_club",
    customerId: "cus_1",
    balance: 12,
    tier: "Silver",
    issuedVia: "website",
    fieldValues: { firstName: "Anna", points: 12 },
    wallets: ["apple"],
    issuedAtMs: noon,
  };
  const delivery = {
    id: "dlv_1",
    eventId: "evt_1",
    type: "balance.changed",
    endpointId: "we_1",
    state: "pending",
    failures: 1,
    attempts: [
      {
        at: "2026-03-01T12:00:00.000Z",
        signedAt: "2026-03-01T12:00:00.000Z",
        signedWith: "service",
        status: 500,
        durationMs: 1,
      },
    ],
    nextAttemptAt: "2026-03-01T12:01:00.000Z",
    body: '{"id":"evt_1"}',
  };
  const operation = {
    id: "op_1",
    cardId: "card_1",
    type: "purchase",
    change: 12,
    balance: 12,
    createdAt: "2026-03-01T12:00:00.000Z",
    isCancelled: false,
  };
  const state = {
    apiKeys: [
      [
        "mock_website_key",
        { id: "key_1", kind: "website", name: "Website key", key: "mock_website_key", createdAt: "" },
      ],
    ],
    templates: [["tpl_club", { ...template, tiers: [...template.tiers].reverse(), isArchived: false }]],
    customers: [
      [
        "cus_1",
        {
          id: "cus_1",
          phone: "+48600100200",
          email: "A@shop.test",
          marketing: { isGiven: true },
          cardIds: ["card_1"],
        },
      ],
    ],
    customerIdByPhone: [["+48600100200", "cus_1"]],
    customerIdByEmail: [["a@shop.test", "cus_1"]],
    cards: [["card_1", card]],
    cardIdBySlug: [["slug1", "card_1"]],
    operations: [["op_1", operation]],
    operationIdsByCard: [["card_1", ["op_1"]]],
    issuedUnderKey: [["user-1", { cardId: "card_1", atMs: noon }]],
    endpoints: [
      ["we_1", { id: "we_1", url: "https://shop.test/", events: ["balance.changed"], secret: "whsec_1" }],
    ],
    deliveries: [["dlv_1", delivery]],
    pendingDeliveryIds: ["dlv_1"],
    recentEvents: [{ id: "evt_1", type: "balance.changed", createdAt: "2026-03-01T12:00:00.000Z", data: {} }],
    faults: [["flt_1", { id: "flt_1", kind: "drop", times: 1, match: { event: "ping" } }]],
  };
  const world = { id: "default", apiKeys: { website: "mock_website_key", full: "mock_full_key" } };
  const clock = { mode: "manual", nowMs: noon, machineMs: 0 };
  const seed = { templates: [template], endpoints: [] };
  const worlds = [{ ...world, clock, state }];
  writeFileSync(data, JSON.stringify({ format: "loyalty-cards mock-server", version: 1, seed, worlds }));

  for (const round of [1, 2]) {
    const deliver = () => new Response(null, { status: round === 1 ? 500 : 204 });
    const { service, call, issue, close } = await open({ data, deliver });
    expect((await call("GET", "/api/v1/passes/card_1")).body).toMatchObject({
      loyaltyBalance: 12,
      loyaltyTier: "Silver",
    });
    const path = `/api/v1/templates/${template.id}/passes`;
    const again = await call("POST", path, { body: signUp(), headers: { "idempotency-key": "user-1" } });
    expect(again.body.id).toBe("card_1");
    expect((await issue(signUp({ email: "a@SHOP.test" }))).body.customerId).toBe("cus_1");
    expect((await call("GET", "/api/v1/passes/card_1/operations")).body.items).toHaveLength(1);
    expect(service.faults.list()).toHaveLength(1);
    expect((await call("GET", "/_mock/customers", { key: null })).body.items[0].cardIds).toHaveLength(
      1 + round,
    );
    const [attempt] = await service.clock.advance(round === 1 ? "1m" : "5m");
    expect(attempt).toMatchObject({ deliveryId: "dlv_1", status: round === 1 ? 500 : 204 });
    await close();
  }
});

it("a world keeps everything that was changed in it after the file was first written", async () => {
  const data = temporaryData();
  const first = await open({
    data,
    clock: manualClock(noon),
    deliver: () => new Response(null, { status: 204 }),
  });
  const { service } = first;
  const { body: card } = await first.issue(signUp());
  const { id: endpointId } = service.webhooks.createEndpoint({
    url: "https://shop.test/",
    events: ["card.added"],
  });
  service.cards.addToWallet(card.id, "apple");
  await service.idle();
  const { secret } = service.webhooks.newSecret(endpointId);
  service.templates.create({ id: "tpl_new", name: "New" });
  service.templates.archive("tpl_new");
  const { id: faultId } = service.faults.add({ kind: "drop", times: 2 });
  service.faults.remove(service.faults.add({ kind: "drop" }).id);
  const { body: key } = await first.call("POST", "/_mock/api-keys", { body: { kind: "full" }, key: null });
  const { body: revoked } = await first.call("POST", "/_mock/api-keys", {
    body: { kind: "full" },
    key: null,
  });
  await first.call("DELETE", `/_mock/api-keys/${revoked.id}`, { key: null });
  const operation = service.cards.purchase(card.id, { points: 20 });
  service.cards.cancel(operation.id);
  await first.call("PUT", `/api/v1/passes/${card.id}/consent`, { body: { marketing: true } });
  const [kept, removed, restored] = [
    service.worlds.create(),
    service.worlds.create(),
    service.worlds.create(),
  ];
  service.worlds.remove(removed.worldId);
  const snapshot = restored.snapshot();
  restored.templates.create({ id: "tpl_gone", name: "Gone" });
  restored.restore(snapshot);
  kept.templates.create({ id: "tpl_kept", name: "Kept" });
  await service.clock.advance("1h");
  const shown = async ({ call }: typeof first) =>
    Promise.all(
      [
        "cards",
        "customers",
        "templates",
        "api-keys",
        "faults",
        "clock",
        "worlds",
        "webhooks/deliveries",
        "webhooks/endpoints",
        `cards/${card.id}/operations`,
      ]
        .flatMap((what) => [
          `/_mock/${what}`,
          ...[kept, restored].map(({ worldId }) => `/_mock/${what}?world=${worldId}`),
        ])
        .map(async (path) => [path, (await call("GET", path, { key: null })).body]),
    );
  const before = JSON.stringify(await shown(first)).replaceAll(first.url, "");
  await first.close();
  const second = await open({ data });
  expect(JSON.stringify(await shown(second)).replaceAll(second.url, "")).toBe(before);
  expect(before).toContain(key.id);
  expect(before).toContain(faultId);
  expect((await second.call("GET", `/api/v1/passes/${card.id}`, { key: key.key })).status).toBe(200);
  expect((await second.call("GET", `/api/v1/passes/${card.id}`, { key: revoked.key })).status).toBe(401);
  expect(readFileSync(data, "utf8")).toContain(secret);
  expect(await second.service.waitFor({ event: { type: "card.added" } })).toHaveLength(1);
});

it("an event is in the file before its first delivery attempt", async () => {
  const data = temporaryData();
  const contents: string[] = [];
  const deliver = () => {
    contents.push(readFileSync(data, "utf8"));
    return new Response(null, { status: 204 });
  };
  const { service, issue } = await open({ data, deliver });
  service.webhooks.createEndpoint({ url: "https://shop.test/", events: ["balance.changed"] });
  const { body } = await issue(signUp());
  const { id } = service.cards.purchase(body.id, { points: 1 });
  await service.idle();
  expect(contents).toEqual([expect.stringContaining(id)]);
});

const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;

it.skipIf(!hasPrlimit)(
  "when the file cannot be written, nothing is said to be done (needs prlimit)",
  { timeout: 60_000 },
  async () => {
    const data = temporaryData();
    await (await open({ data })).close();
    const { size } = statSync(data);
    // The system lets this process make no file larger than this.
    const limit = `ulimit -S -f ${Math.ceil(size / 1024) + 4}; exec "$0" "$@"`;
    const bin = join(import.meta.dirname, "../../src/hosts/bin.ts");
    const node = [
      process.execPath,
      "--conditions=@loyalty-cards/source",
      "--import",
      "tsx",
      bin,
      ...options(data),
    ];
    const child = spawn("bash", ["-c", limit, ...node], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ready: Ready = JSON.parse(
      await new Promise((resolve) => child.stdout.once("data", (line) => resolve(String(line)))),
    );
    const call = caller(ready.baseUrl, fetch, ready.apiKeys.website);
    const answered: string[] = [];
    for (;;) {
      const response = await fetch(`${ready.baseUrl}/api/v1/templates/${template.id}/passes`, {
        method: "POST",
        headers: { authorization: `Bearer ${ready.apiKeys.website}`, "content-type": "application/json" },
        body: JSON.stringify(signUp()),
      });
      const body = (await response.json()) as { id: string };
      if (response.status === 500) break;
      answered.push(body.id);
    }
    const response = await fetch(`${ready.baseUrl}/_mock/templates`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"name":"Late"}',
    });
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining("The data file cannot be written: EFBIG"),
    ]);
    expect(answered.length).toBeGreaterThan(1);
    spawnSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
    const later = await call("POST", `/api/v1/templates/${template.id}/passes`, { body: signUp() });
    expect(later.status).toBe(201);
    answered.push(later.body.id);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));
    const there = await cardIdsOf((await open({ data })).call);
    expect(answered.filter((id) => !there.has(id))).toEqual([]);
  },
);

it("a request writes as much with thousands of cards as with none, and the file does not grow for ever", async () => {
  const data = temporaryData();
  const { service } = await open({ data, deliver: () => new Response(null, { status: 204 }) });
  /** In process; one customer with many cards. */
  const issue = async () => {
    const response = await service.fetch(
      new Request(`${service.baseUrl}/api/v1/templates/${template.id}/passes`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" },
        body: JSON.stringify(signUp({ phone: "+48600100200" })),
      }),
    );
    return ((await response.json()) as { id: string }).id;
  };
  const growthBytes = async () => {
    const growths: number[] = [];
    for (let count = 0; count < 9; count++) {
      const { size } = statSync(data);
      await issue();
      growths.push(statSync(data).size - size);
    }
    return growths.sort((a, b) => a - b)[4] as number; // the file may be written anew meanwhile
  };
  const atFirst = await growthBytes();
  for (let count = 0; count < 5_000; count++) await issue();
  expect(atFirst).toBeGreaterThan(0);
  expect(await growthBytes()).toBe(atFirst);

  service.reset();
  for (let round = 0; round < 1_000; round++) {
    const cardId = await issue();
    for (let count = 0; count < 100; count++) service.cards.purchase(cardId, { points: 1 });
    service.restore(service.snapshot());
    service.reset();
  }
  await issue();
  expect(statSync(data).size).toBeLessThan(16 * 1024 * 1024);
  expect(statSync(data).mode & 0o777).toBe(0o600);
});

it("with 20,000 cards a request costs at most twice one in memory", { timeout: 120_000 }, async () => {
  const servers = [await startMockServer({ templates: [template] }), await open({ data: temporaryData() })];
  onTestFinished(servers[0]?.close ?? (() => {}));
  const timesMs: number[][] = [[], []];
  const issue = async (index: number) => {
    const { url, service } = servers[index] as MockServer;
    const startedMs = performance.now();
    const response = await fetch(`${url}/api/v1/templates/${template.id}/passes`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" },
      body: JSON.stringify(signUp()),
    });
    expect(response.status).toBe(201);
    await response.text();
    return performance.now() - startedMs;
  };
  for (const { service } of servers) {
    for (let count = 0; count < 20_000; count++) {
      await service.fetch(
        new Request(`${service.baseUrl}/api/v1/templates/${template.id}/passes`, {
          method: "POST",
          headers: { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" },
          body: JSON.stringify(signUp()),
        }),
      );
    }
  }
  for (let count = 0; count < 1_000; count++) {
    for (const index of count % 2 === 0 ? [0, 1] : [1, 0]) timesMs[index]?.push(await issue(index));
  }
  const [inMemoryMs = 0, withDataMs = 0] = timesMs.map((times) => times.sort((a, b) => a - b)[500]);
  expect(withDataMs / inMemoryMs).toBeLessThan(2);
});

/** The option `data`: restarts restore everything, files that cannot be used are named, and one server at a time holds the lock. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startMockServer } from "../../src/adapters/node.ts";
import { manualClock, scaledClock } from "../../src/index.ts";
import { noon, signUp, template } from "../shop.ts";
import { start } from "./command.ts";
import { open, optionsFor, readCardIds, startOn, temporaryData } from "./data-files.ts";

it("restores cards, keys, sandboxes, secrets, the clock and pending deliveries after a restart", async () => {
  const data = temporaryData();
  const failing = () => new Response(null, { status: 500 });
  const endpoints = [{ url: "https://shop.test/", events: ["balance.changed" as const] }];
  const before = await open({ data, clock: manualClock(noon), deliver: failing, endpoints });
  const { body: card } = await before.issue(signUp({ phone: "+48600100200" }));
  const sandbox = before.service.sandboxes.create();
  sandbox.templates.create({ id: "tpl_sandbox", name: "Sandbox" });
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
  expect((await after.call("GET", "/api/v1/passes/card_1", { key: sandbox.apiKeys.full })).status).toBe(404);
  expect(after.service.sandboxes.list().map(({ sandboxId }) => sandboxId)).toEqual([
    "default",
    sandbox.sandboxId,
  ]);
  expect(await after.service.clock.runUntilIdle()).toMatchObject([{ status: 204 }]);
  expect([hasArrived, after.service.webhooks.deliveries()[0]?.attempts.length]).toEqual([true, 3]);
  after.service.reset();
  expect(after.service.endpoints).toEqual(before.service.endpoints);
});

it("continues a fast clock from its last time when it would be after the year 9999 now", async () => {
  const data = temporaryData();
  const before = await open({ data, clock: scaledClock({ factor: 1_000_000, startAt: noon }) });
  await before.close();
  const lines = readFileSync(data, "utf8");
  const daysAgo = Date.now() - 100 * 86_400_000;
  writeFileSync(data, lines.replace(/"machineMs":[\d.]+/g, `"machineMs":${daysAgo}`));
  const after = await open({ data });
  expect(after.service.clock.setting()).toEqual({ mode: "scaled", factor: 1_000_000 });
  expect(after.service.clock.now()).toBeLessThan(Date.parse("3000-01-01"));
});

it("releases the file at the end of a block", async () => {
  const data = temporaryData();
  const addSandbox = async () => {
    await using server = await startMockServer({ data });
    server.service.sandboxes.create();
    return server.service.sandboxes.list().length;
  };
  expect([await addSandbox(), await addSandbox()]).toEqual([2, 3]);
});

it("restores status, expired points and changed endpoints, and no deleted endpoints", async () => {
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

it("restores stored refusals and warnings", async () => {
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
  await after.service.clock.advance("1m"); // the same warning is recorded once a minute
  expect((await after.call("POST", path, withKey(signUp()))).status).toBe(422);
  expect(after.service.warnings()).toHaveLength(2);
});

it("names a file that cannot be used, and does not change it", async () => {
  const data = temporaryData();
  const { issue, close } = await open({ data });
  for (let count = 0; count < 3; count++) await issue(signUp());
  await close();
  const lines = readFileSync(data, "utf8").split("\n");
  const damaged = (line: string) => [...lines.slice(0, 3), line, ...lines.slice(4)].join("\n");
  for (const [content, message] of [
    [damaged('{"sandbox":'), /line 4 is damaged: it is not JSON/],
    [damaged("7"), /line 4 is damaged: it is not a record/],
    [damaged("{}"), /line 4 is damaged: it does not name a sandbox/],
    [
      damaged('{"sandbox":{"id":"default","apiKeys":{},"clock":{}},"put":{"cards":[{}]}}'),
      /one of its cards has no id/,
    ],
    [lines[0] ?? "", /does not contain the default sandbox/],
    ["", /it is empty/],
    ["hello", /it is not JSON/],
    ['{"a":1}\n', /not a file that mock-server --data wrote/],
    ...[1, 2, 99, undefined].map((version): [string, RegExp] => [
      JSON.stringify({ format: "loyalty-cards mock-server", version, sandboxes: [{}] }),
      new RegExp(`its format has version ${version}, and this mock server reads version 3`),
    ]),
  ] as const) {
    writeFileSync(data, content);
    await expect(startMockServer({ data }), content).rejects.toThrow(message);
    await expect(startMockServer({ data }), content).rejects.toThrow(`--data ${data} cannot be used`);
    expect([readFileSync(data, "utf8"), existsSync(`${data}.lock`)]).toEqual([content, false]);
  }
  await expect(startMockServer({ data: join(data, "..", "none", "data.json") })).rejects.toThrow(/ENOENT/);
});

it("restores every change that was made after the file was first written", async () => {
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
    service.sandboxes.create(),
    service.sandboxes.create(),
    service.sandboxes.create(),
  ];
  service.sandboxes.remove(removed.sandboxId);
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
        "sandboxes",
        "webhooks/deliveries",
        "webhooks/endpoints",
        `cards/${card.id}/operations`,
      ]
        .flatMap((what) => [
          `/_mock/${what}`,
          ...[kept, restored].map(({ sandboxId }) => `/_mock/${what}?sandbox=${sandboxId}`),
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

describe("a second server on the same file", () => {
  it("refuses to start and names the first server, until that one is killed", {
    timeout: 60_000,
  }, async () => {
    const data = temporaryData();
    const first = await startOn(data);
    const { body: card } = await first.issue();
    const link = `${data}.link`;
    symlinkSync(data, link);
    for (const name of [data, link]) {
      const { code, stderr } = await start(...optionsFor(name)).exit;
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`process ${first.child.pid} uses it, at ${first.baseUrl} since 20`),
      ]);
      expect(stderr).toContain(`--data ${name} cannot be used`);
    }
    await expect(startMockServer({ data })).rejects.toThrow(first.baseUrl);
    const { body: later } = await first.issue();
    first.child.kill("SIGKILL");
    await first.exit;
    const second = await startOn(data);
    expect(await readCardIds(second.call)).toEqual(new Set([card.id, later.id]));
    second.child.kill("SIGTERM");
    expect((await second.exit).code).toBe(0);
    expect(existsSync(`${data}.lock`)).toBe(false);
  });

  it("refuses to start in the same process too, until the first server is closed", async () => {
    const data = temporaryData();
    const first = await open({ data });
    await expect(startMockServer({ data })).rejects.toThrow(
      `process ${process.pid} uses it, at ${first.url}`,
    );
    await first.close();
    await open({ data });
  });

  it("serves with one of four servers that start at the same moment; the others name it", {
    timeout: 60_000,
  }, async () => {
    const data = temporaryData();
    const servers = Array.from({ length: 4 }, () => start(...optionsFor(data)));
    const outcomes = await Promise.all(
      servers.map(({ firstOutput, exit }) => Promise.race([firstOutput, exit.then(({ stderr }) => stderr)])),
    );
    expect(outcomes.filter((text) => text.startsWith("{"))).toHaveLength(1);
    expect(outcomes.filter((text) => /uses it/.test(text))).toHaveLength(3);
  });

  it("replaces the lock of a dead process whose id another process has now", async () => {
    const data = temporaryData();
    const { close } = await open({ data });
    const [entry = ""] = readdirSync(`${data}.lock`);
    await close();
    const [pid, ticks, ...rest] = entry.split("_");
    mkdirSync(`${data}.lock`);
    writeFileSync(
      join(`${data}.lock`, [pid, `${ticks}0`, ...rest].join("_")),
      '{"url":"http://127.0.0.1:1","since":"2026-01-01T00:00:00.000Z"}',
    );
    await open({ data });
    expect(readdirSync(`${data}.lock`)).toHaveLength(1);
  });

  it("refuses to start while a server in another container updates its lock", async () => {
    const data = temporaryData();
    mkdirSync(`${data}.lock`);
    const entry = join(`${data}.lock`, "1_5_elsewhere_0123abcd");
    writeFileSync(entry, '{"url":"http://cards:4010","since":"2026-01-01T00:00:00.000Z"}');
    const beat = setInterval(() => utimesSync(entry, new Date(), Date.now() / 1000), 200);
    onTestFinished(() => clearInterval(beat));
    await expect(startMockServer({ data })).rejects.toThrow(
      /process 1 uses it, at http:\/\/cards:4010 since 2026/,
    );
    clearInterval(beat);
    await open({ data });
  });
});

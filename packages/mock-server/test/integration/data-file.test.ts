/** A service that keeps its data: over restarts, over kills at any moment, and over what a file can be. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type MockServerOptions, startMockServer } from "../../src/hosts/node.ts";
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

it("what was answered is in the file, wherever SIGKILL falls", async () => {
  const data = temporaryData();
  const answered: string[] = [];
  for (let round = 0; round < 4; round++) {
    const { child, firstOutput, exit } = start("--port", "0", "--json", "--data", data);
    const { baseUrl, apiKeys, templateId } = JSON.parse(await firstOutput);
    const call = caller(baseUrl, fetch, apiKeys.website);
    for (const id of answered) expect((await call("GET", `/api/v1/passes/${id}`)).status, id).toBe(200);
    // Killed while several callers write; at which card is chance.
    const last = answered.length + 10 + Math.floor(Math.random() * 60);
    const visitor = async () => {
      for (;;) {
        const { body } = await call("POST", `/api/v1/templates/${templateId}/passes`, {
          body: signUp({}, {}),
        });
        answered.push(body.id);
        if (answered.length >= last) child.kill("SIGKILL");
      }
    };
    await Promise.allSettled(Array.from({ length: 4 }, visitor));
    await exit;
    expect(JSON.parse(readFileSync(data, "utf8")).worlds[0].state.cards.length).toBeGreaterThanOrEqual(
      answered.length,
    );
  }
  const { issue, call } = await open({ data });
  expect((await call("GET", "/_mock/cards", { key: null })).body.total).toBeGreaterThanOrEqual(
    answered.length,
  );
  expect((await issue(signUp({}, {}))).status).toBe(404); // the template of these tests is not in that file
});

it("a draft that a kill left behind is nobody's state", async () => {
  const data = temporaryData();
  const { issue, close } = await open({ data });
  const { body } = await issue(signUp());
  await close();
  writeFileSync(`${data}.tmp`, '{"format":"half');
  const { call } = await open({ data });
  expect((await call("GET", `/api/v1/passes/${body.id}`)).status).toBe(200);
  expect(existsSync(data)).toBe(true);
});

it("a file of another version is left alone", async () => {
  const data = temporaryData();
  const foreign = JSON.stringify({ format: "loyalty-cards mock-server", version: 99, worlds: [{}] });
  writeFileSync(data, foreign);
  await expect(startMockServer({ data })).rejects.toThrow(/version 99, and this program reads version 1/);
  expect(readFileSync(data, "utf8")).toBe(foreign);
});

it("when the file cannot be written, nothing is said to be done", async () => {
  const data = temporaryData();
  const { issue } = await open({ data });
  mkdirSync(`${data}.tmp`); // where the draft should go

  const refused = await issue(signUp()).catch((error: Error) => error);
  expect(refused).toMatchObject({
    status: 500,
    body: { detail: expect.stringContaining("cannot be written") },
  });
  rmSync(`${data}.tmp`, { recursive: true });
  expect((await issue(signUp())).status).toBe(201);
});

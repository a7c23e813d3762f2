/** The data file for longer: twenty kills, thousands of cards, and the time of a request. */
import { statSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { type MockServer, startMockServer } from "../../src/adapters/node.ts";
import { signUp, template } from "../shop.ts";
import { expectCardsSurviveKills, open, temporaryData } from "./data-files.ts";

it("keeps every card of a response when the server is killed, twenty times", { timeout: 300_000 }, () =>
  expectCardsSurviveKills(20),
);

it("writes as much per request with thousands of cards as with none, and compacts the file", async () => {
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

it("takes at most twice the time of a request in memory with 20,000 cards", {
  timeout: 120_000,
}, async () => {
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

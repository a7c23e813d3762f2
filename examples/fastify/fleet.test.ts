/** The fleet against the mock service: a new secret during deliveries, a killed process, each event once, the end of an old secret. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasPgBoss, ownSchema } from "../../packages/webhook-inbox/test/servers.ts";
import { saveSecret } from "./secrets.ts";
import { prepare } from "./tables.ts";
import { nodeFlags, startBalancer, startProcess } from "./test/processes.ts";

const cwd = fileURLToPath(new URL(".", import.meta.url));
const poll = { timeout: 15_000 };

async function openService() {
  const { url, service, close } = await startMockServer();
  onTestFinished(close);
  const loyalty = createIssuingClient({
    baseUrl: url,
    apiKey: service.apiKeys.website,
  });
  const customer = { consents: { privacy: { version: "1" } } };
  const { templateId } = service;
  const card = await loyalty.issueCard(templateId, { customer }, { userId: 1 });
  return {
    url,
    service,
    cardId: card.id,
    createEndpoint: (address: string) =>
      service.webhooks.createEndpoint({
        url: `${address}/webhooks/loyalty`,
        events: ["balance.changed"],
      }),
    buy(times: number) {
      for (let count = 0; count < times; count++)
        service.cards.purchase(card.id, { points: 1 });
    },
  };
}

describe.skipIf(!(await hasPgBoss()))("the fleet with pg-boss", () => {
  const fleet = ownSchema();
  const rotation = ownSchema();
  const command = ownSchema();

  // G18
  it("processes each event once while the secret is replaced and a process is killed", async () => {
    const { service, createEndpoint, buy } = await openService();
    const pool = fleet.pool(2);
    await prepare(pool);
    const processes = await Promise.all(
      [1, 2].map(() => startProcess(fleet.url, fleet.schema)),
    );
    const { id, secret } = createEndpoint(await startBalancer(processes));
    await saveSecret(pool, secret);
    const outcomes = () => processes.flatMap((each) => each.outcomes);

    buy(20);
    const renewed = service.webhooks.newSecret(id); // during those deliveries
    buy(20);
    await service.idle();
    // No process knows the new one yet.
    await expect.poll(() => outcomes().map(({ status }) => status)).toContain(401);

    await saveSecret(pool, renewed.secret);
    // The fleet asks for secrets at most twice a minute; the service waits a minute before it delivers again.
    await Promise.all(processes.map(({ forward }) => forward(60_000)));
    await service.clock.advance("1m");
    expect(service.webhooks.deliveries({ state: "pending" })).toEqual([]);
    await expect
      .poll(() => outcomes().map(({ secretId }) => secretId))
      .toContain("secret 2");
    const member = async () =>
      (await pool.query("SELECT balance, purchases FROM members")).rows[0];
    await expect.poll(member, poll).toMatchObject({ purchases: 40 });

    await processes[1]?.kill();
    buy(10);
    await service.idle();
    // Half of them reached no process.
    expect(service.webhooks.deliveries({ state: "pending" })).not.toEqual([]);
    await service.clock.runUntilIdle();
    expect(service.webhooks.deliveries({ state: "failed" })).toEqual([]);
    await expect.poll(member, poll).toEqual({ balance: 50, purchases: 50 });
  }, 60_000);

  it("rejects an old secret in all processes after ten minutes, and a leaked one after five", async () => {
    const pool = rotation.pool(2);
    await prepare(pool);
    const processes = await Promise.all(
      [1, 2, 3].map(() => startProcess(rotation.url, rotation.schema)),
    );
    let forwardMs = 0;
    let count = 0;
    async function deliverTo(port: number, secret: string): Promise<number> {
      const id = `evt_${++count}`;
      const event = { id, type: "ping", createdAt: "2026-01-01T00:00:00.000Z" };
      const body = JSON.stringify(event);
      const timestamp = Math.floor((Date.now() + forwardMs) / 1000);
      const headers = {
        "content-type": "application/json",
        "service-signature": await signWebhook({
          rawBody: body,
          secret,
          timestamp,
        }),
      };
      const url = `http://127.0.0.1:${port}/webhooks/loyalty`;
      return (await fetch(url, { method: "POST", headers, body })).status;
    }
    const deliver = (secret: string, [...to] = processes) =>
      Promise.all(to.map(({ port }) => deliverTo(port, secret)));
    async function pass(minutes: number) {
      forwardMs += minutes * 60_000;
      await Promise.all(processes.map(({ forward }) => forward(minutes * 60_000)));
    }
    const [accepted, rejected] = [204, 401].map((status) => Array(3).fill(status));

    await saveSecret(pool, "whsec_first");
    expect(await deliver("whsec_first")).toEqual(accepted);
    await saveSecret(pool, "whsec_second");
    // The third process gets no delivery with the new secret; an attacker with the old one may send some.
    expect(await deliver("whsec_second", processes.slice(0, 2))).toEqual([
      204, 204,
    ]);
    await pass(9);
    expect(await deliver("whsec_first")).toEqual(accepted);
    await pass(1);
    expect(await deliver("whsec_first")).toEqual(rejected);
    expect(await deliver("whsec_second")).toEqual(accepted);

    await saveSecret(pool, "whsec_third", { hasLeaked: true });
    await pass(1); // a 401 may have asked for secrets just now; the service delivers again after a minute
    expect(await deliver("whsec_third", processes.slice(0, 2))).toEqual([204, 204]);
    await pass(4);
    expect(await deliver("whsec_second")).toEqual(rejected);
    expect(await deliver("whsec_third")).toEqual(accepted);
  }, 60_000);

  it("starts with one command and gets its secret from another", async () => {
    const { url, service, cardId, createEndpoint, buy } = await openService();
    const env = {
      ...process.env,
      DATABASE_URL: command.url,
      DATABASE_SCHEMA: command.schema,
      LOYALTY_URL: url,
      LOYALTY_API_KEY: service.apiKeys.website,
      LOYALTY_TEMPLATE_ID: service.templateId,
      PORT: "0",
    };
    const start = (program: string) =>
      spawn(process.execPath, [...nodeFlags, program], { cwd, env });
    const shop = start("fleet.ts");
    const ended = once(shop, "exit");
    shop.stderr.pipe(process.stderr);
    onTestFinished(async () => {
      shop.kill("SIGTERM");
      await ended;
    });
    let address = "";
    for await (const chunk of shop.stdout.iterator({ destroyOnReturn: false })) {
      address = /receiving on (\S+)/.exec(String(chunk))?.[1] ?? "";
      if (address !== "") break;
    }
    const { secret } = createEndpoint(address);
    const rotate = start("rotate.ts");
    rotate.stdin.end(`${secret}\n`);
    expect(await once(rotate, "exit")).toEqual([0, null]);

    buy(1);
    await service.waitFor({ delivery: { state: "delivered" } });
    const pool = command.pool(1);
    const members = async () =>
      (await pool.query("SELECT card, balance FROM members")).rows;
    await expect.poll(members, poll).toEqual([{ card: cardId, balance: 1 }]);
  }, 60_000);
});

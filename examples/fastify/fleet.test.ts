/** The fleet against the mock service: a new secret during deliveries, a killed process, each event once, the end of an old secret. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import { saveSecret } from "./secrets.ts";
import { prepare } from "./tables.ts";
import {
  createSchema,
  hasPostgres,
  nodeFlags,
  startBalancer,
  startProcess,
} from "./test/servers.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

async function openService() {
  const { url, service, close } = await startMockServer();
  onTestFinished(close);
  const loyalty = createIssuingClient({
    baseUrl: url,
    apiKey: service.apiKeys.website,
  });
  const customer = { consents: { privacy: { version: "1" } } };
  const { id: cardId } = await loyalty.issueCard(
    service.templateId,
    { customer },
    { userId: 1 },
  );
  const endpointAt = (address: string) =>
    service.webhooks.createEndpoint({
      url: `${address}/webhooks/loyalty`,
      events: ["balance.changed"],
    });
  return {
    service,
    cardId,
    endpointAt,
    buy: () => service.cards.purchase(cardId, { points: 1 }),
  };
}

/** pg-boss 12 needs it. */
const isNode22 = Number.parseInt(process.versions.node, 10) >= 22;

describe.skipIf(!isNode22 || !(await hasPostgres()))(
  "the fleet with pg-boss",
  () => {
    const fleet = createSchema();
    const rotation = createSchema();
    const command = createSchema();

    // G18
    it("processes each event once while the secret is replaced and a process is killed", async () => {
      const { service, endpointAt, buy } = await openService();
      const pool = fleet.pool(2);
      await prepare(pool);
      const [first, second] = await Promise.all([
        startProcess(fleet.url, fleet.schema),
        startProcess(fleet.url, fleet.schema),
      ]);
      const { id, secret } = endpointAt(await startBalancer([first, second]));
      await saveSecret(pool, secret);
      const outcomes = () => [...first.outcomes, ...second.outcomes];

      for (let count = 0; count < 20; count++) buy();
      const renewed = service.webhooks.newSecret(id); // during those deliveries
      for (let count = 0; count < 20; count++) buy();
      await service.idle();
      await expect
        .poll(() => outcomes().some(({ status }) => status === 401))
        .toBe(true); // no process knows the new one yet

      await saveSecret(pool, renewed.secret);
      // The fleet asks for secrets at most twice a minute; the service waits a minute before it delivers again.
      await Promise.all([first.forward(60_000), second.forward(60_000)]);
      await service.clock.advance("1m");
      expect(service.webhooks.deliveries({ state: "pending" })).toEqual([]);
      await expect
        .poll(() => outcomes().some(({ secretId }) => secretId === "secret 2"))
        .toBe(true);

      const member = async () =>
        (await pool.query("SELECT balance, purchases FROM members")).rows[0];
      await expect
        .poll(member, { timeout: 15_000 })
        .toMatchObject({ purchases: 40 });

      await second.kill();
      for (let count = 0; count < 10; count++) buy();
      await service.idle();
      expect(service.webhooks.deliveries({ state: "pending" })).not.toEqual([]); // half of them reached no process
      await service.clock.runUntilIdle();
      expect(service.webhooks.deliveries({ state: "failed" })).toEqual([]);
      await expect
        .poll(member, { timeout: 15_000 })
        .toEqual({ balance: 50, purchases: 50 });
    }, 60_000);

    it("rejects an old secret in all processes after ten minutes, and a leaked one after five", async () => {
      const pool = rotation.pool(2);
      await prepare(pool);
      const processes = await Promise.all(
        [1, 2, 3].map(() => startProcess(rotation.url, rotation.schema)),
      );
      let forwardMs = 0;
      let count = 0;
      const deliver = (secret: string, [...to] = processes) =>
        Promise.all(
          to.map(async ({ port }) => {
            const body = JSON.stringify({
              id: `evt_${++count}`,
              type: "ping",
              createdAt: "2026-01-01T00:00:00.000Z",
            });
            const timestamp = Math.floor((Date.now() + forwardMs) / 1000);
            const signature = await signWebhook({
              rawBody: body,
              secret,
              timestamp,
            });
            const headers = {
              "content-type": "application/json",
              "service-signature": signature,
            };
            const address = `http://127.0.0.1:${port}/webhooks/loyalty`;
            return (await fetch(address, { method: "POST", headers, body })).status;
          }),
        );
      const pass = async (ms: number) => {
        forwardMs += ms;
        await Promise.all(processes.map(({ forward }) => forward(ms)));
      };

      await saveSecret(pool, "whsec_first");
      expect(await deliver("whsec_first")).toEqual([204, 204, 204]);
      await saveSecret(pool, "whsec_second");
      // The third process gets no delivery with the new secret; an attacker with the old one may send some.
      expect(await deliver("whsec_second", processes.slice(0, 2))).toEqual([
        204, 204,
      ]);
      await pass(9 * 60_000);
      expect(await deliver("whsec_first")).toEqual([204, 204, 204]);
      await pass(60_000);
      expect(await deliver("whsec_first")).toEqual([401, 401, 401]);
      expect(await deliver("whsec_second")).toEqual([204, 204, 204]);

      await saveSecret(pool, "whsec_third", { hasLeaked: true });
      await pass(60_000); // a 401 may have asked for secrets just now; the service delivers again after a minute
      expect(await deliver("whsec_third", processes.slice(0, 2))).toEqual([
        204, 204,
      ]);
      await pass(4 * 60_000);
      expect(await deliver("whsec_second")).toEqual([401, 401, 401]);
      expect(await deliver("whsec_third")).toEqual([204, 204, 204]);
    }, 60_000);

    const commandEnv = {
      ...process.env,
      DATABASE_URL: command.url,
      DATABASE_SCHEMA: command.schema,
      LOYALTY_URL: "http://127.0.0.1:4010",
      LOYALTY_API_KEY: "key_not_used",
      LOYALTY_TEMPLATE_ID: "tpl_not_used",
    };

    it("says that its port is taken, and exits with 2", async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
      const { port } = server.address() as AddressInfo;
      const env = { ...commandEnv, PORT: String(port) };
      const program = spawn(process.execPath, [...nodeFlags, "fleet.ts"], {
        cwd: here,
        env,
      });
      onTestFinished(() => void program.kill("SIGKILL"));
      const [stdout, stderr, [code]] = await Promise.all([
        text(program.stdout),
        text(program.stderr),
        once(program, "exit"),
      ]);
      expect(stderr).toMatch(new RegExp(`^Error: .*EADDRINUSE.*:${port}$`, "m"));
      expect([code, stdout]).toEqual([2, ""]);
    }, 60_000);

    it("starts with one command and gets its secret from another", async () => {
      const { service, cardId, endpointAt, buy } = await openService();
      const env = { ...commandEnv, PORT: "0" };
      const program = spawn(process.execPath, [...nodeFlags, "fleet.ts"], {
        cwd: here,
        env,
      });
      const ended = once(program, "exit");
      program.stderr.pipe(process.stderr);
      onTestFinished(async () => {
        program.kill("SIGTERM");
        await ended;
      });
      let address: string | undefined;
      for await (const chunk of program.stdout.iterator({
        destroyOnReturn: false,
      })) {
        address = /receiving on (\S+)/.exec(String(chunk))?.[1];
        if (address !== undefined) break;
      }
      const { secret } = endpointAt(address ?? "");
      const rotate = spawn(process.execPath, [...nodeFlags, "rotate.ts"], {
        cwd: here,
        env,
      });
      rotate.stdin.end(`${secret}\n`);
      expect(await once(rotate, "exit")).toEqual([0, null]);

      buy();
      await service.waitFor({ delivery: { state: "delivered" } });
      const pool = command.pool(1);
      const members = async () =>
        (await pool.query("SELECT card, balance FROM members")).rows;
      await expect
        .poll(members, { timeout: 15_000 })
        .toEqual([{ card: cardId, balance: 1 }]);
    }, 60_000);
  },
);

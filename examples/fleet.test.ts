/** The fleet of the example on Fastify against the mock service: a new secret during deliveries, each event once, the end of an old secret, and its commands. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { pipeline } from "node:stream";
import { fileURLToPath } from "node:url";
import { type MockService, manualClock } from "@loyalty-cards/mock-server";
import { freePort } from "@loyalty-cards/testing/free-port";
import { hasPgBoss, ownSchema } from "@loyalty-cards/testing/servers";
import { signWebhook } from "@loyalty-cards/webhook-verify";
import { describe, expect, it, onTestFinished } from "vitest";
import { findLine, fromSource } from "./commands/shell.ts";
import { openReceiver } from "./fastify/receiver.ts";
import { saveSecret } from "./fastify/secrets.ts";
import { prepare } from "./fastify/tables.ts";
import { openService } from "./test/service.ts";

const cwd = fileURLToPath(new URL("fastify", import.meta.url));

const createEndpoint = ({ webhooks }: MockService, address: string) =>
  webhooks.createEndpoint({
    url: `${address}/webhooks/loyalty`,
    events: ["balance.changed"],
  });

describe.skipIf(!(await hasPgBoss()))("the fleet with pg-boss", () => {
  const fleet = ownSchema();
  const rotation = ownSchema();
  const command = ownSchema();
  const away = ownSchema();
  const ending = ownSchema();

  /** The receivers of several processes, here in one. */
  async function openReceivers(
    { url: databaseUrl, schema, pool }: ReturnType<typeof ownSchema>,
    now: () => number,
    count: number,
  ) {
    await prepare(pool(1));
    const outcomes: { status: number; secretId?: string | undefined }[] = [];
    const receivers = await Promise.all(
      Array.from({ length: count }, () =>
        openReceiver({
          databaseUrl,
          schema,
          now,
          testing: { clock: { monotonicMs: now } },
          onOutcome: (outcome) => void outcomes.push(outcome),
        }),
      ),
    );
    onTestFinished(async () => {
      await Promise.all(receivers.map(({ close }) => close()));
    });
    return {
      outcomes,
      async deliver(
        index: number,
        headers: Record<string, string>,
        payload: string,
      ) {
        const url = "/webhooks/loyalty";
        const request = { method: "POST", url, headers, payload } as const;
        return (await receivers[index % count]?.app.inject(request))?.statusCode;
      },
    };
  }

  // G18
  it("processes each event once while the secret is replaced", async () => {
    const clock = manualClock();
    const { outcomes, deliver } = await openReceivers(fleet, clock.now, 2);
    let turn = 0;
    const { service, issueCard } = await openService({
      clock,
      async deliver(request) {
        const headers = Object.fromEntries(request.headers);
        const status = await deliver(turn++, headers, await request.text());
        return new Response(null, { status: status ?? 502 });
      },
    });
    const pool = fleet.pool(2);
    const { id, secret } = createEndpoint(service, "https://shop.example");
    await saveSecret(pool, secret);
    const card = await issueCard();
    const buy = () => {
      for (let count = 0; count < 20; count++)
        service.cards.purchase(card, { points: 1 });
    };

    buy();
    const renewed = service.webhooks.newSecret(id); // during those deliveries
    buy();
    await service.idle();
    // No process knows the new one yet.
    expect(outcomes.map(({ status }) => status)).toContain(401);

    await saveSecret(pool, renewed.secret);
    // The fleet asks for secrets at most twice a minute; the service waits a minute before it delivers again.
    await service.clock.advance("1m");
    expect(service.webhooks.deliveries({ state: "pending" })).toEqual([]);
    expect(outcomes.map(({ secretId }) => secretId)).toContain("secret 2");
    const member = async () =>
      (await pool.query("SELECT balance, purchases FROM members")).rows[0];
    await expect.poll(member).toEqual({ balance: 40, purchases: 40 });
  }, 60_000);

  it("rejects an old secret in all processes after nine hours, a leaked one after five minutes, and none that is saved again", async () => {
    let forwardMs = 0;
    const now = () => Date.now() + forwardMs; // the database has its own clock
    const receivers = await openReceivers(rotation, now, 3);
    const pool = rotation.pool(2);
    let count = 0;
    async function deliverTo(index: number, secret: string) {
      const id = `evt_${++count}`;
      const event = { id, type: "ping", createdAt: "2026-01-01T00:00:00.000Z" };
      const rawBody = JSON.stringify(event);
      const timestamp = Math.floor(now() / 1000);
      const headers = {
        "content-type": "application/json",
        "service-signature": await signWebhook({ rawBody, secret, timestamp }),
      };
      return receivers.deliver(index, headers, rawBody);
    }
    const deliver = (secret: string, to = [0, 1, 2]) =>
      Promise.all(to.map((index) => deliverTo(index, secret)));
    const [accepted, rejected] = [204, 401].map((status) => Array(3).fill(status));

    await saveSecret(pool, "whsec_first");
    expect(await deliver("whsec_first")).toEqual(accepted);
    await saveSecret(pool, "whsec_second");
    // The third process gets no delivery with the new secret; an attacker with the old one may send some.
    expect(await deliver("whsec_second", [0, 1])).toEqual([204, 204]);
    forwardMs += (9 * 60 - 1) * 60_000;
    expect(await deliver("whsec_first")).toEqual(accepted);
    forwardMs += 1 * 60_000;
    expect(await deliver("whsec_first")).toEqual(rejected);
    expect(await deliver("whsec_second")).toEqual(accepted);

    await saveSecret(pool, "whsec_third", { hasLeaked: true });
    forwardMs += 1 * 60_000; // a 401 may have asked for secrets just now; the service delivers again after a minute
    expect(await deliver("whsec_third", [0, 1])).toEqual([204, 204]);
    forwardMs += 4 * 60_000;
    expect(await deliver("whsec_second")).toEqual(rejected);
    expect(await deliver("whsec_third")).toEqual(accepted);

    await saveSecret(pool, "whsec_mistake");
    await saveSecret(pool, "whsec_third"); // again
    forwardMs += 9 * 60 * 60_000;
    expect(await deliver("whsec_mistake")).toEqual(rejected);
    expect(await deliver("whsec_third")).toEqual(accepted);
  }, 60_000);

  it("starts with one command and gets its secret from another", async () => {
    const { service, issueCard, setEnvironment } = await openService();
    setEnvironment();
    const env = {
      ...process.env,
      DATABASE_URL: command.url,
      DATABASE_SCHEMA: command.schema,
      PORT: "0",
    };
    const start = (program: string) =>
      spawn(process.execPath, [...fromSource, program], { cwd, env });
    const shop = start("fleet.ts");
    const ended = once(shop, "exit");
    shop.stderr.pipe(process.stderr);
    onTestFinished(async () => {
      shop.kill("SIGTERM");
      await ended;
    });
    const [, address = ""] = await findLine(shop, /receiving on (\S+)/);
    const { secret } = createEndpoint(service, address);
    const rotate = start("secrets.ts");
    rotate.stdin.end(`${secret}\n`);
    expect(await once(rotate, "exit")).toEqual([0, null]);

    const card = await issueCard();
    service.cards.purchase(card, { points: 1 });
    await service.waitFor({ delivery: { state: "delivered" } });
    const pool = command.pool(1);
    const members = async () =>
      (await pool.query("SELECT card, balance FROM members")).rows;
    await expect.poll(members).toEqual([{ card, balance: 1 }]);
  }, 60_000);

  it("starts its processes again until PostgreSQL is reachable", async () => {
    const { setEnvironment } = await openService();
    setEnvironment();
    const port = await freePort();
    const database = new URL(away.url);
    const postgres = {
      host: database.hostname,
      port: Number(database.port || 5432),
    };
    database.host = `127.0.0.1:${port}`;
    const env = {
      ...process.env,
      DATABASE_URL: database.href,
      DATABASE_SCHEMA: away.schema,
      PORT: "0",
    };
    const shop = spawn(process.execPath, [...fromSource, "fleet.ts"], { cwd, env });
    const ended = once(shop, "exit");
    let logged = "";
    shop.stderr.on("data", (chunk) => {
      logged += chunk;
    });
    const countFailures = () => logged.split("connect ECONNREFUSED").length - 1;
    await expect.poll(countFailures).toBeGreaterThan(2); // one of them was started again
    const proxy = createServer((client) => {
      const server = connect(postgres);
      pipeline(client, server, client, () => {}); // a process ends at the end of the test
    }).listen(port, "127.0.0.1");
    onTestFinished(async () => {
      shop.kill("SIGTERM");
      await ended;
      proxy.close();
    });
    await findLine(shop, /receiving on (\S+)/);
  }, 60_000);

  it("shows and logs nothing of a database error but its code, and ends the running requests at Ctrl-C", async () => {
    const { service, setEnvironment } = await openService();
    setEnvironment();
    const env = {
      ...process.env,
      DATABASE_URL: ending.url,
      DATABASE_SCHEMA: ending.schema,
      PORT: "0",
    };
    const shop = spawn(process.execPath, [...fromSource, "fleet.ts"], {
      cwd,
      env,
      detached: true, // a process group, as of a terminal
    });
    onTestFinished(() => void shop.kill("SIGKILL"));
    const ended = once(shop, "exit");
    let logged = "";
    shop.stderr.on("data", (chunk) => {
      logged += chunk;
    });
    const [, address = ""] = await findLine(shop, /receiving on (\S+)/);
    const signUp = (name: string) => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify({ name }) };
      return fetch(`${address}/sign-up`, init);
    };
    const failed = await signUp("Anna\u0000"); // PostgreSQL stores no zeros
    expect([failed.status, await failed.json()]).toEqual([
      500,
      { message: "Please try again later." },
    ]);
    await expect.poll(() => logged).toMatch(/^POST \/sign-up: error 22\w+$/m);
    expect(logged).not.toContain("invalid byte"); // may quote what was entered

    const delayMs = 1_000;
    service.faults.add({ phase: "before", kind: "latency", delayMs, times: 1 });
    const running = signUp("Anna");
    await expect.poll(() => service.faults.list()).toEqual([]);
    // A terminal sends the signal to all processes, and the first process to the others.
    process.kill(-(shop.pid ?? 0), "SIGINT");
    expect((await running).status).toBe(201);
    expect(await ended).toEqual([0, null]);
  }, 60_000);
});

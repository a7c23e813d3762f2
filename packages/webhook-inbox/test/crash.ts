/**
 * Delivers events to two receiver processes with one inbox. They are killed at random moments,
 * their PostgreSQL connections are closed, and their Redis is killed. Counts lost events, duplicate
 * effects and wrong balances.
 * `npm run compat:crash-inbox EVENTS KILLS [sqlite | pg-boss | bullmq …]`
 */
// G3, G12
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "@loyalty-cards/testing/free-port";
import { createRestartedProcess } from "@loyalty-cards/testing/restarted-process";
import { createIssuingClient } from "../../issuing-client/src/index.ts";
import { startMockServer } from "../../mock-server/src/adapters/node.ts";
import { bullmqOnOwnRedis, bundleReceiver, type Engine, pgBoss, sqlite } from "./engines.ts";

// The receivers run from the build, and a receiver that cannot start would look like a killed one.
if (!existsSync(new URL("../dist/index.js", import.meta.url)))
  throw new Error("Run `npm run build` before this.");

const events = Number(process.argv[2] ?? 5_000);
const kills = Number(process.argv[3] ?? 200);
const chosen = process.argv.slice(4);
/**
 * Shortens the retry schedule of 8 h 36 min to a minute: 0.1 s, 0.5 s, 3 s, 12 s, 36 s; with few
 * kills to a tenth of it.
 */
const timesFaster = kills > 50 ? 600 : 6_000;

/** The system clock, accelerated. */
function fastClock() {
  const startMs = Date.now();
  const now = () => startMs + (Date.now() - startMs) * timesFaster;
  return {
    now,
    wakeAt(atMs: number, wake: () => void) {
      const timer = setTimeout(wake, Math.max(0, (atMs - now()) / timesFaster));
      return () => clearTimeout(timer);
    },
  };
}

/**
 * The network: it delays deliveries so that their order changes, duplicates every fifth one, and
 * picks a receiver at random.
 */
async function network(receiverPorts: readonly number[]) {
  let duplicates = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const forward = async () => {
      await pause(Math.random() * 30);
      const receiverPort = receiverPorts[Math.floor(Math.random() * receiverPorts.length)];
      const headers = { "service-signature": String(request.headers["service-signature"]) };
      const body = Buffer.concat(chunks);
      return (await fetch(`http://127.0.0.1:${receiverPort}/`, { method: "POST", headers, body }))
        .status;
    };
    if (Math.random() < 0.2) {
      duplicates += 1;
      void forward().catch(() => {});
    }
    try {
      response.writeHead(await forward()).end();
    } catch {
      response.destroy(); // the receiver was killed: the service gets no response
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    duplicates: () => duplicates,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function run(engine: Engine): Promise<boolean> {
  const startedMs = Date.now();
  const ports = [await freePort(), await freePort()];
  const between = await network(ports);
  const endpoint = { url: between.url, events: ["balance.changed" as const] };
  const mock = await startMockServer({ clock: fastClock(), endpoints: [endpoint] });
  const { service } = mock;
  const runsFile = join(tmpdir(), `crash-inbox-${randomUUID()}`);
  const secret = service.endpoints[0]?.secret ?? "";
  const program = await bundleReceiver("build");
  const receivers = ports.map((port) =>
    createRestartedProcess(
      program,
      { engine: engine.name, port, secret, runsFile, ...engine.settings },
      10 * (kills + 10),
      engine.node,
    ),
  );

  const client = createIssuingClient({ baseUrl: mock.url, apiKey: service.apiKeys.website });
  const cards: string[] = [];
  for (let card = 0; card < Math.min(50, events); card++) {
    const customer = { email: `user${card}@example.com`, consents: { privacy: { version: "1" } } };
    cards.push((await client.issueCard(service.templateId, { customer }, { userId: card })).id);
  }

  // Purchases continue during the kills, so that there are always events to process.
  let killed = 0;
  let bought = 0;
  let isKilling = true;
  const buying = (async () => {
    while (bought < events) {
      const due = isKilling
        ? Math.min(events, Math.ceil(((killed + 1) / (kills + 1)) * events))
        : events;
      while (bought < due) {
        service.cards.purchase(cards[bought % cards.length] ?? "", {
          points: 1 + Math.floor(Math.random() * 9),
        });
        bought += 1;
        await pause(2);
      }
      await pause(5);
    }
  })();
  const killing = Promise.all(
    receivers.map(async (each) => {
      while (killed < kills) {
        await each.start();
        await pause(20 + Math.random() * (kills > 50 ? 1_000 : 400));
        await each.end("SIGKILL");
        killed += 1;
      }
    }),
  ).then(() => {
    isKilling = false;
  });
  let connectionsCut = 0;
  const cutting = (async () => {
    while (isKilling && engine.cutConnection !== undefined) {
      await pause(Math.random() * 200);
      // Not while both receivers start, because a start needs many queries.
      if (receivers.some((each) => each.isListening()))
        connectionsCut += await engine.cutConnection();
    }
  })();
  let redisKilled = 0;
  const killingRedis = (async () => {
    while (isKilling && engine.killRedis !== undefined) {
      await pause(500 + Math.random() * (kills > 50 ? 5_000 : 500));
      await engine.killRedis();
      redisKilled += 1;
    }
  })();
  await Promise.all([buying, killing, cutting, killingRedis]);
  await Promise.all(receivers.map((each) => each.start()));

  // Failed deliveries are resent, as staff would do in the console.
  let givenUp = 0;
  let isOver = false;
  // After many kills the next attempt of an event may be due after minutes.
  const giveUpAtMs = Date.now() + (kills > 50 ? 900_000 : 120_000);
  while (!isOver && Date.now() < giveUpAtMs) {
    // A connection that was closed at the last moment can end a receiver after its start. Other
    // crashes are counted.
    await Promise.all(receivers.filter((each) => !each.isListening()).map((each) => each.start()));
    for (const { id } of service.webhooks.deliveries({ state: "failed" })) {
      service.webhooks.resend(id);
      givenUp += 1;
    }
    const waiting = await countWaiting(ports[0]);
    const delivered = service.webhooks.deliveries({ state: "delivered" }).length;
    isOver = waiting === 0 && delivered === events;
    await pause(100);
  }
  await Promise.all(receivers.map((each) => each.end("SIGKILL")));

  const deliveries = service.webhooks.deliveries();
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  const effects = await engine.effects();
  const balances = await engine.balances();
  const wrong = cards.filter((id) => balances.get(id) !== service.cards.get(id).loyaltyBalance);
  const runs = readFileSync(runsFile, "utf8").trim().split("\n").length;
  rmSync(runsFile);
  const lost = events - new Set(effects).size;
  const doubled = effects.length - new Set(effects).size;
  const crashes = receivers.reduce((sum, each) => sum + each.crashes(), 0);
  const refusedStarts = receivers.reduce((sum, each) => sum + each.refusedStarts(), 0);
  const isRight = isOver && lost === 0 && doubled === 0 && wrong.length === 0 && crashes === 0;
  console.log(
    `${isRight ? "✓" : "✗"} ${engine.name}: ${lost} lost, ${doubled} duplicate effects, ${wrong.length} wrong balances, ${crashes} receivers that crashed\n` +
      `  ${events} events, ${killed} kills of two receivers, ${connectionsCut} connections to PostgreSQL closed, Redis killed ${redisKilled} times, ` +
      `${((Date.now() - startedMs) / 1000).toFixed(0)} s${isOver ? "" : ", TIMEOUT: events are still waiting"}\n` +
      `  ${attempts.length} attempts, ${attempts.filter(({ status }) => status === 204).length} with 204, ` +
      `${attempts.filter(({ status }) => status === 503).length} with 503, ` +
      `${attempts.filter(({ status }) => status === undefined).length} without a response, ` +
      `${between.duplicates()} more duplicates, ${givenUp} resent\n` +
      `  ${runs} handler runs, ${effects.length} effects, ${refusedStarts} starts without a server`,
  );
  await mock.close();
  between.close();
  await engine.remove();
  return isRight;
}

/**
 * The events that are stored and not processed.
 * @returns undefined when the receiver does not run.
 */
async function countWaiting(port: number | undefined): Promise<number | undefined> {
  try {
    return ((await (await fetch(`http://127.0.0.1:${port}/`)).json()) as { waiting: number })
      .waiting;
  } catch {
    return undefined;
  }
}

let isRight = true;
for (const [name, make] of Object.entries({
  sqlite,
  "pg-boss": pgBoss,
  bullmq: bullmqOnOwnRedis,
})) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  isRight = (await run(await make())) && isRight;
}
process.exitCode = isRight ? 0 : 1;

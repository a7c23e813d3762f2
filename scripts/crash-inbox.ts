/**
 * Delivers events to a receiver that is killed at random moments, and counts: every event one effect, every balance the
 * service's. `crash-inbox.ts <events> <kills> [engine …]`
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { createIssuingClient } from "../packages/issuing-client/src/index.ts";
import { startMockServer } from "../packages/mock-server/src/hosts/node.ts";
import {
  bullmq,
  type Engine,
  pgBoss,
  receiverProgram,
  sqlite,
} from "../packages/webhook-inbox/test/engines.ts";

const events = Number(process.argv[2] ?? 5_000);
const kills = Number(process.argv[3] ?? 200);
const chosen = process.argv.slice(4);
/** The ladder of 8 h 36 min in a minute: 0.1 s, 0.5 s, 3 s, 12 s, 36 s; and with few kills all the quicker. */
const timesFaster = kills > 50 ? 600 : 6_000;

/** The machine's clock, many times as fast. */
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

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The network: it delays, so that events overtake each other, and every fifth delivery arrives twice. */
async function network(receiverPort: number) {
  let copies = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const forward = async () => {
      await pause(Math.random() * 30);
      const headers = { "service-signature": String(request.headers["service-signature"]) };
      const body = Buffer.concat(chunks);
      return (await fetch(`http://127.0.0.1:${receiverPort}/`, { method: "POST", headers, body })).status;
    };
    if (Math.random() < 0.2) {
      copies += 1;
      void forward().catch(() => {});
    }
    try {
      response.writeHead(await forward()).end();
    } catch {
      response.destroy(); // killed: the service gets no answer
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    copies: () => copies,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function run(engine: Engine): Promise<boolean> {
  const startedMs = Date.now();
  const receiverPort = await freePort();
  const between = await network(receiverPort);
  const endpoint = { url: between.url, events: ["balance.changed" as const] };
  const mock = await startMockServer({ clock: fastClock(), endpoints: [endpoint] });
  const { service } = mock;
  const runsFile = join(tmpdir(), `crash-inbox-${randomUUID()}`);
  const secret = service.endpoints[0]?.secret ?? "";
  const argument = JSON.stringify({
    engine: engine.name,
    port: receiverPort,
    secret,
    runsFile,
    ...engine.settings,
  });

  async function start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [receiverProgram, argument], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout });
    await new Promise<void>((resolve, reject) => {
      lines.once("line", () => resolve());
      child.once("exit", (code) => reject(new Error(`the receiver ended with ${code}`)));
    });
    child.removeAllListeners("exit");
    return child;
  }

  const client = createIssuingClient({ baseUrl: mock.url, apiKey: service.apiKeys.website });
  const cards: string[] = [];
  for (let card = 0; card < Math.min(50, events); card++) {
    const customer = { email: `user${card}@example.com`, consents: { privacy: { version: "1" } } };
    cards.push((await client.issueCard(service.templateId, { customer }, { userId: card })).id);
  }

  // Purchases go on while the receiver is killed, so that no moment of its life is without events.
  let killed = 0;
  let bought = 0;
  let isKilling = true;
  const buying = (async () => {
    while (bought < events) {
      const due = isKilling ? Math.min(events, Math.ceil(((killed + 1) / (kills + 1)) * events)) : events;
      while (bought < due) {
        service.cards.purchase(cards[bought % cards.length] ?? "", {
          points: 1 + Math.floor(Math.random() * 9),
        });
        bought += 1;
        await pause(2); // two purchases on one card never within one millisecond
      }
      await pause(5);
    }
  })();
  const killing = (async () => {
    while (killed < kills) {
      const child = await start();
      await pause(20 + Math.random() * (kills > 50 ? 1_000 : 400));
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
      killed += 1;
    }
    isKilling = false;
  })();
  await Promise.all([buying, killing]);

  const last = await start();
  // What the ladder gave up on is resent, as a person would in the console.
  let givenUp = 0;
  for (;;) {
    for (const { id } of service.webhooks.deliveries({ state: "failed" })) {
      service.webhooks.resend(id);
      givenUp += 1;
    }
    const { waiting } = (await (await fetch(`http://127.0.0.1:${receiverPort}/`)).json()) as {
      waiting: number;
    };
    if (waiting === 0 && service.webhooks.deliveries({ state: "delivered" }).length === events) break;
    await pause(100);
  }
  const gone = new Promise((resolve) => last.once("exit", resolve));
  last.kill("SIGKILL");
  await gone;

  const deliveries = service.webhooks.deliveries();
  const attempts = deliveries.flatMap((delivery) => delivery.attempts);
  const effects = await engine.effects();
  const balances = await engine.balances();
  const wrong = cards.filter((id) => balances.get(id) !== service.cards.get(id).loyaltyBalance);
  const runs = readFileSync(runsFile, "utf8").trim().split("\n").length;
  rmSync(runsFile);
  const isRight = new Set(effects).size === events && effects.length === events && wrong.length === 0;
  console.log(
    `${isRight ? "✓" : "✗"} ${engine.name}: ${events} events, ${kills} kills, ${((Date.now() - startedMs) / 1000).toFixed(0)} s\n` +
      `  ${attempts.length} attempts, ${attempts.filter(({ status }) => status === 204).length} answered 204, ` +
      `${attempts.filter(({ status }) => status === undefined).length} without an answer, ` +
      `${between.copies()} more copies, ${givenUp} resent by hand\n` +
      `  ${runs} handler runs, ${effects.length} effects for ${new Set(effects).size} events, ` +
      `${cards.length - wrong.length} of ${cards.length} balances as the service has them`,
  );
  await mock.close();
  between.close();
  await engine.remove();
  return isRight;
}

let isRight = true;
for (const make of [sqlite, pgBoss, bullmq]) {
  if (chosen.length > 0 && !chosen.includes(make.name)) continue;
  isRight = (await run(await make())) && isRight;
}
process.exitCode = isRight ? 0 : 1;

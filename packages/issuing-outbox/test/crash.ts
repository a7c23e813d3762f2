/**
 * Sends sign-ups to shops with an outbox, each once, while their processes are killed at random
 * moments, the service fails and connections are cut. Counts users without a card, second cards,
 * and personal data that is left. `npm run compat:crash-outbox SIGN_UPS KILLS SHOP…`, for each
 * shop; CRASH_SEED=N repeats the random choices.
 */
// G1, G2
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import {
  draw,
  lostResponses,
  serverErrors,
  startNetwork,
  startService,
} from "@loyalty-cards/testing/failing-service";
import { freePort } from "@loyalty-cards/testing/free-port";
import { createRestartedProcess } from "@loyalty-cards/testing/restarted-process";
import pg from "pg";

const shops = {
  express: { framework: "express", processes: 1, store: inFile },
  fastify: { framework: "fastify", processes: 1, store: inPostgres },
  "express, two processes": { framework: "express", processes: 2, store: inFile },
  "fastify, three processes": { framework: "fastify", processes: 3, store: inPostgres },
};

interface Storage {
  settings: Record<string, string>;
  /**
   * What is on the disk after the processes have closed. PostgreSQL keeps dead rows: the guide says
   * so.
   */
  readBytes(): Buffer;
  remove(): Promise<void> | void;
}

const users = "CREATE TABLE users (id text PRIMARY KEY, card text)";

function inFile(): Storage {
  const folder = mkdtempSync(join(tmpdir(), "crash-outbox-"));
  const file = join(folder, "shop.db");
  const database = openSqlite(file);
  database.exec(users);
  database.close();
  return {
    settings: { file },
    readBytes: () =>
      Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name)))),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

async function inPostgres(): Promise<Storage> {
  const databaseUrl =
    process.env["DATABASE_URL"] ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres";
  const schema = `crash_outbox_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${schema}`,
    max: 1,
  });
  await admin.query(`CREATE SCHEMA ${schema}`);
  await admin.query(users);
  return {
    settings: { databaseUrl, schema },
    readBytes: () => Buffer.alloc(0),
    async remove() {
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

const name = "Wilhelmina Nowak";
const toPhone = (userId: number | string) => `+48${600_000_000 + Number(userId)}`;
const toEmail = (userId: number | string) => `visitor${userId}@example.com`;

interface Report {
  users: { id: string; card: string | null }[];
  entries: { userId: string; state: string; cardId?: string }[];
}

interface Counts {
  waiting: number;
  undelivered: number;
}

async function run(
  title: string,
  { framework, processes, store }: (typeof shops)["express" | "fastify"],
  signUps: number,
  kills: number,
): Promise<boolean> {
  const startedMs = performance.now();
  const service = await startService([
    [3, lostResponses],
    [2, serverErrors],
  ]);
  const network = await startNetwork(service.settings.baseUrl);
  const storage = await store();
  const settings = { ...service.settings, ...storage.settings, framework, baseUrl: network.url };
  const program = fileURLToPath(new URL("crash-shop.mjs", import.meta.url));
  const ports = await Promise.all(Array.from({ length: processes }, freePort));
  const running = ports.map((port) => createRestartedProcess(program, { ...settings, port }, 0));
  const get = async (path: string) =>
    (await (
      await fetch(`http://127.0.0.1:${ports[0]}${path}`, { signal: AbortSignal.timeout(60_000) })
    ).json()) as never;

  let sent = 0;
  let responded = 0;
  let errors = 0;
  const sending = new Set<Promise<void>>();
  /** Sends a form, which is not sent again whatever becomes of it. */
  async function send(): Promise<void> {
    let listening: typeof running = [];
    while (listening.length === 0) {
      await pause(draw.below(40));
      listening = running.filter((each) => each.isListening());
    }
    sent += 1;
    const customer = {
      phone: toPhone(sent),
      email: toEmail(sent),
      name,
      consents: { privacy: { version: "1" } },
    };
    const sentForm = fetch(`http://127.0.0.1:${draw.pick(listening).port}/`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ userId: String(sent), request: { customer } }),
    }).then(
      async (response) => {
        responded += 1;
        if (response.ok) return;
        errors += 1;
        console.error(`A sign-up got ${response.status}: ${await response.text()}`);
      },
      () => {}, // killed meanwhile
    );
    sending.add(sentForm);
  }

  await Promise.all(running.map((each) => each.start()));
  let killed = 0;
  while (sent < signUps) {
    const killedNow = draw.shuffled(running).slice(0, 1 + draw.below(running.length));
    const restarting = killedNow.map(async (each) => {
      await pause(draw.below(600));
      await each.end("SIGKILL");
      await each.start();
    });
    killed += killedNow.length;
    const dueForms = Math.min(signUps, (killed / kills) * signUps);
    while (sent < dueForms) await send();
    await Promise.all(restarting);
  }
  await Promise.all(sending);
  let report: Report = await get("/report");
  // Others take the place of visitors whose form was lost.
  while (report.users.length < signUps) {
    for (let missing = signUps - report.users.length; missing > 0; missing--) await send();
    await Promise.all(sending);
    report = await get("/report");
  }
  const giveUpAtMs = performance.now() + 120_000;
  let isDrained = false;
  while (!isDrained) {
    const counts: Counts = await get("/counts");
    isDrained = counts.waiting === 0 && counts.undelivered === 0;
    if (performance.now() > giveUpAtMs) {
      console.error(`${title}: entries are still waiting: ${JSON.stringify(counts)}`);
      break;
    }
    await pause(100);
  }
  report = await get("/report");
  await Promise.all(running.map((each) => each.end("SIGTERM")));

  const { users, entries } = report;
  const cards = service.readCards();
  const saved = new Set(users.map(({ id }) => toEmail(id)));
  const cardIds = new Map(entries.map(({ userId, cardId }) => [userId, cardId]));
  const bytes = storage.readBytes();
  const personal = [
    name,
    ...Array.from({ length: sent }, (_, index) => index + 1).flatMap((id) => [
      toPhone(id),
      toEmail(id),
    ]),
  ];
  const wrong = {
    "without a card": users.filter(({ id }) => !cards.has(toEmail(id))).length,
    "second cards": [...cards.values()].filter(({ length }) => length !== 1).length,
    "cards of visitors who were not saved": [...cards.keys()].filter((email) => !saved.has(email))
      .length,
    "users.card that differ from the outbox or the service": users.filter(
      ({ id, card }) => card !== cardIds.get(id) || card !== cards.get(toEmail(id))?.[0],
    ).length,
    "entries that are not issued": entries.filter(({ state }) => state !== "issued").length,
    "users without an entry": users.length - entries.length,
    "phones, emails and names left": personal.filter((text) => bytes.includes(text)).length,
    "sign-ups with an error": errors,
    "processes that ended by themselves": running.reduce((sum, each) => sum + each.crashes(), 0),
  };
  const isRight = isDrained && Object.values(wrong).every((count) => count === 0);
  const counts = Object.entries(wrong).map(([what, count]) => `${count} ${what}`);
  console.log(
    `${isRight ? "✓" : "✗"} ${title}: ${users.length} users, ${counts.join(", ")}\n` +
      `  ${sent} forms sent once, ${responded} with a response, ${killed} kills, ${service.counts.requests} requests of which ` +
      `${service.counts.failures} failed and ${service.counts.conflicts} got 409, ${network.cuts()} connections cut, ${((performance.now() - startedMs) / 1000).toFixed(0)} s`,
  );
  network.close();
  await service.close();
  await storage.remove();
  return isRight;
}

const [signUps = "1000", kills = "100", ...chosen] = process.argv.slice(2);
const titles = Object.keys(shops) as (keyof typeof shops)[];
const results = await Promise.all(
  titles
    .filter((title) => chosen.length === 0 || chosen.includes(title))
    .map((title) => run(title, shops[title], Number(signUps), Number(kills))),
);
process.exitCode = results.length > 0 && results.every(Boolean) ? 0 : 1;

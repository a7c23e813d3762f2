/**
 * Engines with their own tables and functions that read the effects at the end, and receivers on
 * them in separate processes, which get signed deliveries.
 */
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { openSqlite } from "@loyalty-cards/internal/sqlite/database-node";
import { freePort } from "@loyalty-cards/testing/free-port";
import { startRedis } from "@loyalty-cards/testing/own-servers";
import { scratchFile } from "@loyalty-cards/testing/resources";
import {
  pgBossNode,
  redisUrl,
  databaseUrl as sharedDatabaseUrl,
} from "@loyalty-cards/testing/servers";
import { signWebhookSync, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { build } from "esbuild";
import { Redis } from "ioredis";
import pg from "pg";
import { onTestFinished } from "vitest";
import { sqliteInbox } from "../src/index.ts";
import { ensureInboxTables } from "../src/postgres.ts";
import { toBody } from "./inboxes.ts";

/**
 * Bundles the program of the receiver, once per process.
 * @returns its path.
 * @param from where it takes the packages from.
 */
export function bundleReceiver(from: "sources" | "build"): Promise<string> {
  const outfile = join(import.meta.dirname, `dist/receiver-from-${from}.mjs`);
  bundling ??= build({
    entryPoints: [join(import.meta.dirname, "receiver-process.mjs")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    ...(from === "build"
      ? { packages: "external" }
      : { conditions: ["@loyalty-cards/source"], external: ["bullmq", "pg", "pg-boss", "libsql"] }),
  }).then(() => outfile);
  return bundling;
}
let bundling: Promise<string> | undefined;

export interface Engine {
  name: string;
  /** Environment of the receiver's process. */
  settings: Record<string, string>;
  /** The program of Node.js that runs the receiver; by default the one that runs the tests. */
  node?: string;
  /** The event id of every committed effect; an event with two effects is listed twice. */
  effects(): Promise<string[]>;
  balances(): Promise<Map<string, number>>;
  /**
   * Closes one random connection of a receiver to PostgreSQL.
   * @returns the number of closed connections
   */
  cutConnection?(): Promise<number>;
  /** Kills the engine's own Redis and starts it again. */
  killRedis?(): Promise<void>;
  remove(): Promise<void>;
}

const tables = [
  "CREATE TABLE effects (event_id text)", // without a primary key, so that a second effect is visible
  "CREATE TABLE balances (card text PRIMARY KEY, balance real)",
];
type Balance = { card: string; balance: number };
const byCard = (rows: Balance[]) =>
  new Map(rows.map(({ card, balance }) => [card, Number(balance)]));

export async function sqlite(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), "crash-inbox-"));
  const file = join(folder, "inbox.db");
  const inbox = sqliteInbox({ file });
  await inbox.write((own) => own.exec(tables.join(";")));
  await inbox.close();
  const database = openSqlite(file);
  const rows = <Row>(sql: string) => database.prepare(sql).all() as Row[];
  return {
    name: "sqlite",
    settings: { file },
    effects: async () =>
      rows<{ event_id: string }>("SELECT event_id FROM effects").map(({ event_id }) => event_id),
    balances: async () => byCard(rows<Balance>("SELECT card, balance FROM balances")),
    async remove() {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function inPostgres(name: string, databaseUrl = sharedDatabaseUrl) {
  const schema = `crash_${randomUUID().replaceAll("-", "")}`;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    options: `-c search_path=${schema}`,
    max: 2,
  });
  pool.on("error", () => {}); // some tests also stop PostgreSQL
  await pool.query(`CREATE SCHEMA ${schema}`);
  for (const table of tables) await pool.query(table);
  await ensureInboxTables(pool);
  const named = new URL(databaseUrl); // so that only connections of receivers are closed
  named.searchParams.set("application_name", schema);
  const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid =
    (SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY random() LIMIT 1)`;
  return {
    name,
    settings: { databaseUrl: named.href, schema },
    cutConnection: async () => (await pool.query(cut, [schema])).rows.length,
    effects: async () =>
      (await pool.query("SELECT event_id FROM effects")).rows.map(({ event_id }) => event_id),
    balances: async () =>
      byCard((await pool.query<Balance>("SELECT card, balance FROM balances")).rows),
    async remove() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  } satisfies Engine;
}

export async function pgBoss(url = sharedDatabaseUrl): Promise<Engine> {
  const node = pgBossNode;
  if (node === undefined)
    throw new Error("pg-boss needs Node.js 22.12. `npm ci --prefix compat` installs Node.js 24.");
  const engine = await inPostgres("pg-boss", url);
  const { schema } = engine.settings;
  // The jobs of a killed worker are retried after two seconds.
  const program = `const { PgBoss } = await import("pg-boss");
    const boss = new PgBoss(${JSON.stringify({ connectionString: url, schema, supervise: false, schedule: false })});
    await boss.start();
    await boss.createQueue("events", { expireInSeconds: 2 });
    await boss.stop({ graceful: false });`;
  await promisify(execFile)(node, ["--input-type=module", "--eval", program], {
    cwd: import.meta.dirname,
  });
  return { ...engine, node };
}

/** BullMQ on a separate Redis that loses no acknowledged write when it is killed. */
export async function bullmqOnOwnRedis(): Promise<Engine> {
  const engine = await inPostgres("bullmq");
  const folder = mkdtempSync(join(tmpdir(), "crash-redis-"));
  const port = await freePort();
  const start = () =>
    startRedis(port, "--dir", folder, "--appendonly", "yes", "--appendfsync", "always");
  let server = await start();
  async function kill(): Promise<void> {
    const exited = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await exited;
  }
  return {
    ...engine,
    settings: { ...engine.settings, redisUrl: `redis://127.0.0.1:${port}`, prefix: "crash" },
    async killRedis() {
      await kill();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 300)); // meanwhile deliveries fail, because Redis is unavailable
      server = await start();
    },
    async remove() {
      await engine.remove();
      await kill();
      rmSync(folder, { recursive: true });
    },
  };
}

export async function bullmq(url = sharedDatabaseUrl): Promise<Engine> {
  const engine = await inPostgres("bullmq", url);
  const prefix = `crash-${randomUUID()}`;
  return {
    ...engine,
    settings: { ...engine.settings, redisUrl, prefix },
    async remove() {
      await engine.remove();
      const redis = new Redis(redisUrl);
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(keys);
      redis.disconnect();
    },
  };
}

export const secret = "whsec_1";

export interface ReceiverProcess {
  url: string;
  /** Resolves when a handler has ended in this process. */
  done: Promise<void>;
  /** Resolves when the next handler ends in this process. */
  nextDone(): Promise<void>;
  /** Whether the process has ended by itself. */
  hasEnded(): boolean;
  recorded(): Promise<{ stored: number; duplicate: number }>;
}

export async function startReceiver(engine: Engine): Promise<ReceiverProcess> {
  const settings = {
    engine: engine.name,
    port: 0,
    secret,
    runsFile: scratchFile("runs"),
    ...engine.settings,
  };
  const program = await bundleReceiver("sources");
  const child = spawn(engine.node ?? process.execPath, [program, JSON.stringify(settings)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(
    () =>
      new Promise((resolve) => {
        if (!child.kill("SIGKILL")) resolve();
        else child.once("exit", () => resolve());
      }),
  );
  const lines = createInterface({ input: child.stdout });
  const nextDone = () =>
    new Promise<void>((resolve) => {
      lines.on("line", function onLine(line) {
        if (line !== "done") return;
        lines.off("line", onLine);
        resolve();
      });
    });
  const done = nextDone();
  const port = await new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    child.once("error", reject);
    lines.once("close", () => reject(new Error("The receiver's process ended.")));
  });
  const url = `http://127.0.0.1:${port}/`;
  const recorded = async () =>
    ((await (await fetch(url)).json()) as { recorded: { stored: number; duplicate: number } })
      .recorded;
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return { url, done, nextDone, hasEnded, recorded };
}

/**
 * Sends a signed delivery.
 * @returns the status of the response
 */
export async function deliver(url: string, event: WebhookEvent): Promise<number> {
  const body = toBody(event);
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = signWebhookSync({ rawBody: body, secret, timestamp });
  const response = await fetch(url, {
    method: "POST",
    headers: { "service-signature": signature },
    body,
  });
  return response.status;
}

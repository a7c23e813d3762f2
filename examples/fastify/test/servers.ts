/** PostgreSQL for the tests (`DATABASE_URL`, else the standard port of this machine), processes of the fleet, and a load balancer that sends them deliveries in turn. */

import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, onTestFinished } from "vitest";

const url =
  process.env["DATABASE_URL"] ??
  "postgres://postgres:postgres@127.0.0.1:5432/postgres";

/** @throws when `LOYALTY_CARDS_SERVERS` says that it is required. */
export async function hasPostgres(): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 3_000,
  });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch (error) {
    if (process.env["LOYALTY_CARDS_SERVERS"] === "required") throw error;
    console.error(`SKIPPED: no PostgreSQL at ${url}.`);
    return false;
  }
}

/** Creates a schema for one test, and removes it afterwards. */
export function createSchema() {
  const schema = `example_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  const pools: pg.Pool[] = [];
  beforeAll(() => admin.query(`CREATE SCHEMA ${schema}`));
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    await admin.end();
  });
  return {
    schema,
    url,
    pool(max: number): pg.Pool {
      const pool = new pg.Pool({
        connectionString: url,
        options: `-c search_path=${schema}`,
        max,
      });
      pools.push(pool);
      return pool;
    },
  };
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const program = here("receiver-process.ts");
/** In the repository of the packages the tests use their sources. */
const conditions = existsSync(here("../../../packages/webhook-inbox/src"))
  ? ["--conditions=@loyalty-cards/source"]
  : [];
export const nodeFlags = [...conditions, "--import", import.meta.resolve("tsx")];

/** The status of a response, and the secret that had signed the delivery. */
export interface Outcome {
  status: number;
  secretId?: string;
}

export interface Process {
  port: number;
  outcomes: Outcome[];
  forward(ms: number): Promise<void>;
  /** With SIGKILL, as at a power failure. */
  kill(): Promise<void>;
}

export async function startProcess(
  databaseUrl: string,
  schema: string,
): Promise<Process> {
  const child = fork(program, {
    execArgv: nodeFlags,
    env: { ...process.env, DATABASE_URL: databaseUrl, DATABASE_SCHEMA: schema },
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null)
      child.send({ end: true });
    await ended;
  });
  const outcomes: Outcome[] = [];
  const { port } = await nextMessage(
    child,
    (message: { port?: number }) => message.port !== undefined,
  );
  child.on("message", (message: Outcome) => {
    if (message.status !== undefined) outcomes.push(message);
  });
  return {
    port: port ?? 0,
    outcomes,
    async forward(ms) {
      const moved = nextMessage(
        child,
        (message: { isForward?: true }) => message.isForward === true,
      );
      child.send({ forwardMs: ms });
      await moved;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function nextMessage<Message>(
  child: ChildProcess,
  matches: (message: Message) => boolean,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const listen = (message: unknown) => {
      if (!matches(message as Message)) return;
      child.off("message", listen);
      resolve(message as Message);
    };
    child.on("message", listen);
    child.once("exit", (code) =>
      reject(new Error(`The process ended with ${code}.`)),
    );
  });
}

/** @returns its address. It responds 502 for a process that has ended. */
export async function startBalancer(
  processes: readonly Pick<Process, "port">[],
): Promise<string> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const { port } = processes[turn++ % processes.length] ?? { port: 0 };
    const { method, url: path, headers } = incoming;
    const forwarded = send(
      { host: "127.0.0.1", port, method, path, headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
    forwarded.on("error", () => outgoing.writeHead(502).end());
    incoming.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

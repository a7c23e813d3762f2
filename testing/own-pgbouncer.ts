/** A PgBouncer for a test: two connections to PostgreSQL, each lent for one transaction. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, vi } from "vitest";
import { freePort } from "./free-port.ts";
import { overEveryClient, type Transacting } from "./postgres-clients.ts";
import { databaseUrl } from "./servers.ts";

const hasPgBouncer = spawnSync("pgbouncer", ["--version"]).status === 0;

/** Transactions through a PgBouncer that runs during the suite. None if it is not installed. */
export async function overPgBouncer(schema: string): Promise<Record<string, Transacting>> {
  if (!hasPgBouncer) {
    console.error("SKIPPED: tests through PgBouncer, because pgbouncer is not installed.");
    return {};
  }
  const port = await freePort();
  const url = `postgres://shop@127.0.0.1:${port}/shop`;
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const sql = postgres(url, { max: 8, prepare: false, fetch_types: false, onnotice: () => {} });
  const folder = mkdtempSync(join(tmpdir(), "own-pgbouncer-"));
  let stop = () => {};
  beforeAll(async () => {
    stop = start(port, folder, schema);
    await vi.waitFor(() => pool.query("SELECT 1"), { timeout: 30_000 });
  });
  afterAll(async () => {
    await Promise.all([pool.end(), sql.end()]);
    stop();
    rmSync(folder, { recursive: true });
  });
  const clients = Object.entries(overEveryClient(pool, sql));
  return Object.fromEntries(clients.map(([name, each]) => [`${name} through PgBouncer`, each]));
}

/** @returns what stops it. */
function start(port: number, folder: string, schema: string): () => void {
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const database = [
    `host=${hostname}`,
    `port=${databasePort || 5432}`,
    `dbname=${pathname.slice(1)}`,
    `user=${username}`,
    `password=${password}`,
    `connect_query='SET search_path = ${schema}'`,
  ];
  const settings = [
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 2",
  ];
  const file = join(folder, "pgbouncer.ini");
  const lines = ["[databases]", `shop = ${database.join(" ")}`, "[pgbouncer]", ...settings, ""];
  writeFileSync(file, lines.join("\n"));
  chmodSync(folder, 0o755); // it cannot run as root
  const asUser = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
  const bouncer = spawn("pgbouncer", [...asUser, file], { stdio: "ignore" });
  return () => void bouncer.kill("SIGKILL");
}

/** A separate PostgreSQL and a separate Redis for a test, which can stop and kill them. */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** On Debian, the programs are not in the PATH. */
function findPrograms(): string | undefined {
  if (spawnSync("pg_ctl", ["--version"]).status === 0) return "";
  const versions = existsSync("/usr/lib/postgresql") ? readdirSync("/usr/lib/postgresql") : [];
  return versions
    .map((version) => `/usr/lib/postgresql/${version}/bin/`)
    .find((folder) => existsSync(folder));
}

const programs = findPrograms();
export const hasPostgresPrograms = programs !== undefined;
if (!hasPostgresPrograms)
  console.error("initdb and pg_ctl are not installed: SKIPPED are tests that stop PostgreSQL.");

interface Cluster {
  url: string;
  start(): Promise<void>;
  /** Like a power failure: without closing connections. */
  stop(): Promise<void>;
  /** Kills the server, which closes no connection itself, and starts it again. */
  crash(): Promise<void>;
  /** As a system update does: it terminates the connections, and starts again. */
  restart(): Promise<void>;
  remove(): Promise<void>;
}

export async function createCluster(port: number): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "own-postgres-"));
  const asOwner = ownerOptions();
  if (asOwner !== undefined) chownSync(folder, asOwner.uid, asOwner.gid);
  const data = join(folder, "data");
  const call = (program: string, ...args: string[]) =>
    run(`${programs}${program}`, args, { ...asOwner, cwd: folder });
  await call(
    "initdb",
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "--no-sync",
    "--no-locale",
    "-E",
    "UTF8",
  );
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1`;
  const cluster: Cluster = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async start() {
      await call("pg_ctl", "-D", data, "-w", "-l", join(folder, "log"), "-o", options, "start");
    },
    async stop() {
      await call("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop");
    },
    async crash() {
      const [pid] = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
      process.kill(Number(pid), "SIGKILL");
      for (;;) {
        try {
          return await cluster.start();
        } catch (error) {
          // For a moment the killed process still exists, and its children hold the shared memory.
          if (!/already exists|is still in use/.test(readFileSync(join(folder, "log"), "utf8")))
            throw error;
        }
      }
    },
    async restart() {
      await call("pg_ctl", "-D", data, "-w", "-m", "fast", "stop");
      await cluster.start();
    },
    async remove() {
      await cluster.stop().catch(() => {}); // it may be stopped already
      rmSync(folder, { recursive: true });
    },
  };
  await cluster.start();
  return cluster;
}

/** The user to run as, because PostgreSQL cannot run as root. */
function ownerOptions(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const readId = (flag: string) =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: readId("-u"), gid: readId("-g") };
}

export const hasRedisServer = spawnSync("redis-server", ["--version"]).status === 0;
if (!hasRedisServer)
  console.error("redis-server is not installed: SKIPPED are tests that stop Redis.");

/** Resolves when it accepts connections. By default it writes nothing to the disk. */
export function startRedis(port: number, ...args: string[]): Promise<ChildProcess> {
  const server = spawn("redis-server", [
    "--port",
    String(port),
    "--save",
    "",
    "--bind",
    "127.0.0.1",
    ...args,
  ]);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`redis-server ended with ${code}`)));
    server.stdout.on("data", (chunk) => {
      if (String(chunk).includes("Ready to accept connections")) resolve(server);
    });
  });
}

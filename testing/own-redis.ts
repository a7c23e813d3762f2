/** A separate Redis for a test, which can stop and kill it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";

export const hasRedisServer = spawnSync("redis-server", ["--version"]).status === 0;
if (!hasRedisServer)
  console.error("SKIPPED: tests that stop Redis, because redis-server is not installed.");

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

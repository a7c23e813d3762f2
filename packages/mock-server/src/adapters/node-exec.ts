/** Runs a command while the service runs, with the address and keys in its environment variables. */
import { execFileSync, spawn } from "node:child_process";
import { constants } from "node:os";
import type { MockServer } from "./node.ts";

const parentCheckMs = 500;
const forwarded = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

/** The environment variables that the examples read. */
export function createEnvironment({ url, service }: MockServer): Record<string, string> {
  const [endpoint] = service.endpoints;
  return {
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_FULL_API_KEY: service.apiKeys.full,
    LOYALTY_TEMPLATE_ID: service.templateId,
    LOYALTY_CONSOLE_URL: `${url}/console`,
    ...(endpoint && { LOYALTY_SIGNING_SECRET: endpoint.secret }),
  };
}

/**
 * Calls `onEnd` once when npm has ended. On SIGTERM npm ends its shell, which does not forward the signal; this process only
 * sees that its parent has changed. Without npm a parent may end first on purpose, as with `nohup`.
 */
export function watchParent(parentId: number, onEnd: () => void): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const timer = setInterval(() => {
    if (process.ppid === parentId) return;
    clearInterval(timer);
    onEnd();
  }, parentCheckMs);
  timer.unref();
}

/** @returns the command's exit code; 128 and the signal's number when a signal ended it, as shells do. */
export function exec(
  server: MockServer,
  parentId: number,
  command: string,
  args: readonly string[],
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: "inherit",
      env: { ...process.env, ...createEnvironment(server) },
      shell: process.platform === "win32", // npm and npx are scripts there
    });
    /** The processes that the command had started when it received the signal. */
    let started: number[] = [];
    const pass = (signal: NodeJS.Signals) => {
      // The terminal sends Ctrl-C to the command too; many programs exit at once on the second signal.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      started = child.pid === undefined ? [] : findDescendants(child.pid);
      child.kill(signal);
    };
    watchParent(parentId, () => pass("SIGTERM"));
    for (const signal of forwarded) process.on(signal, pass);
    const end = (act: () => void) => {
      for (const signal of forwarded) process.off(signal, pass);
      act();
    };
    child.once("error", (error) => end(() => reject(error)));
    child.once("exit", (code, signal) =>
      end(() => {
        for (const id of started) terminate(id); // npm does not end them
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
      }),
    );
  });
}

/** Returns an empty list where `ps` does not exist. */
function findDescendants(parentId: number): number[] {
  let rows: number[][] = [];
  try {
    const text = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8", stdio: "pipe" });
    rows = text.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  } catch {
    return [];
  }
  const ids = [parentId];
  for (const id of ids) for (const [child = 0, parent] of rows) if (parent === id) ids.push(child);
  return ids.slice(1);
}

function terminate(id: number): void {
  try {
    process.kill(id, "SIGTERM");
  } catch {
    // the process has ended
  }
}

/** Runs a command while the service is up, with what it needs to know in its environment. */
import { execFileSync, spawn } from "node:child_process";
import { constants } from "node:os";
import type { MockServer } from "./node.ts";

const parentCheckMs = 500;
const forwarded = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

/** What a program needs to reach the service, under the names that our examples read. */
export function environmentOf({ url, service }: MockServer): Record<string, string> {
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
 * Calls `onEnd` once when npm has ended. On SIGTERM it ends its shell, which forwards nothing to us; what remains to be
 * seen is that the parent process is another one. Without npm a parent may end first on purpose, as with `nohup`.
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
      env: { ...process.env, ...environmentOf(server) },
      shell: process.platform === "win32", // where npm and npx are no programs
    });
    /** What the command had started when it was asked to end. */
    let started: number[] = [];
    const pass = (signal: NodeJS.Signals) => {
      // Ctrl-C at a terminal reaches the command without us; twice would be "now at once" to many programs.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      started = child.pid === undefined ? [] : descendantsOf(child.pid);
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
        for (const id of started) terminate(id); // what npm leaves running
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
      }),
    );
  });
}

/** Empty where there is no `ps`. */
function descendantsOf(parentId: number): number[] {
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
    // it has ended
  }
}

/** Runs a command while the service runs, with the address and keys in its environment variables. */
import { execFileSync, spawn } from "node:child_process";
import { constants } from "node:os";
import type { MockService } from "../service.ts";

/** Read at the start: the parent may end before `watchParent` is called. */
const parentId = process.ppid;
const parentCheckMs = 500;
/** What is needed of a `MockServer`. */
interface RunningService {
  url: string;
  service: MockService;
}

const forwarded = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

/**
 * The environment variables that a program needs to use the service: `LOYALTY_URL`, `LOYALTY_API_KEY`, `LOYALTY_FULL_API_KEY`,
 * `LOYALTY_TEMPLATE_ID`, `LOYALTY_CONSOLE_URL` and, when the seed has an endpoint, `LOYALTY_SIGNING_SECRET`.
 * @example
 * ```ts
 * import { createEnvironment, startMockServer } from "@loyalty-cards/mock-server/node";
 *
 * const server = await startMockServer();
 * Object.assign(process.env, createEnvironment(server));
 * ```
 */
export function createEnvironment({ url, service }: RunningService): Record<string, string> {
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
 * @example
 * ```ts
 * import { startMockServer, watchParent } from "@loyalty-cards/mock-server/node";
 *
 * const { close } = await startMockServer({ port: 4010 });
 * watchParent(() => void close()); // as a script of package.json
 * ```
 */
export function watchParent(onEnd: () => void): void {
  if (process.env["npm_lifecycle_event"] === undefined) return;
  const timer = setInterval(() => {
    if (process.ppid === parentId) return;
    clearInterval(timer);
    onEnd();
  }, parentCheckMs);
  timer.unref();
}

/**
 * Runs a command with the variables of `createEnvironment` and the streams of this process. Signals are passed to the command.
 * @param environment variables instead of those of `createEnvironment`.
 * @returns the command's exit code; 128 and the signal's number when a signal ended it, as shells do.
 * @throws the system's error when the command cannot be started.
 * @example
 * ```ts
 * import { runCommand, startMockServer } from "@loyalty-cards/mock-server/node";
 *
 * const server = await startMockServer();
 * process.exitCode = await runCommand(server, "npm", ["test"]).finally(server.close);
 * ```
 */
export function runCommand(
  server: RunningService,
  command: string,
  args: readonly string[],
  environment: Record<string, string> = createEnvironment(server),
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: "inherit",
      env: { ...process.env, ...environment },
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
    watchParent(() => pass("SIGTERM"));
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

/** Runs a command while the service is up, with what it needs to know in its environment. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { MockServer } from "./node.ts";

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

/** @returns the command's exit code; 128 and the signal's number when a signal ended it, as shells do. */
export function exec(server: MockServer, command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: "inherit",
      env: { ...process.env, ...environmentOf(server) },
      shell: process.platform === "win32", // where npm and npx are no programs
    });
    const pass = (signal: NodeJS.Signals) => {
      // Ctrl-C at a terminal reaches the command without us; twice would be "now at once" to many programs.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      child.kill(signal);
    };
    for (const signal of forwarded) process.on(signal, pass);
    const end = (act: () => void) => {
      for (const signal of forwarded) process.off(signal, pass);
      act();
    };
    child.once("error", (error) => end(() => reject(error)));
    child.once("exit", (code, signal) =>
      end(() => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))),
    );
  });
}

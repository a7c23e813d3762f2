/** Command lines of npm and npx, in a project where the command of the mock server is installed. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { inject, onTestFinished } from "vitest";
import { createFolder } from "./resources.ts";

/**
 * Runs a command line of npm or npx in a project with these scripts, where the command is
 * installed, in a process group of its own.
 */
export function startWithNpm(
  line: string,
  scripts: Record<string, string> = {},
  env: NodeJS.ProcessEnv = {},
) {
  const folder = createFolder();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, scripts }));
  const installed = join(folder, "node_modules/.bin/loyalty-cards-mock");
  mkdirSync(dirname(installed), { recursive: true });
  writeFileSync(
    installed,
    `#!/bin/sh\nexec "${process.execPath}" "${inject("bundledCommand")}" "$@"\n`,
    {
      mode: 0o755,
    },
  );
  const [command = "", ...args] = line.split(" ");
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), npm_config_update_notifier: "false", ...env },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), "SIGKILL");
    } catch {
      // all of the group has ended
    }
  });
  return child;
}

export const isListening = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );

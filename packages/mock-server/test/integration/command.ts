/** Starts the command `loyalty-cards-mock` as a process of its own. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, onTestFinished } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "mock-server-bin-"));
afterAll(() => rmSync(folder, { recursive: true }));
let bundle: string | undefined;

/**
 * The command in one file, made from its source: it starts in a quarter of the time that the source needs. It stands in a
 * folder like the package's own, so that it finds the files of the console and of the reference.
 */
export function bundledBin(): string {
  if (bundle !== undefined) return bundle;
  bundle = join(folder, "src/adapters/bin.mjs");
  mkdirSync(dirname(bundle), { recursive: true });
  symlinkSync(fileURLToPath(new URL("../../static", import.meta.url)), join(folder, "static"));
  symlinkSync(
    fileURLToPath(new URL("../../../../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  buildSync({
    entryPoints: [fileURLToPath(new URL("../../src/adapters/bin.ts", import.meta.url))],
    conditions: ["@loyalty-cards/source"],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile: bundle,
  });
  return bundle;
}

export function start(...args: string[]) {
  const child = spawn(process.execPath, [bundledBin(), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const firstOutput = new Promise<string>((resolve) =>
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      resolve(stdout);
    }),
  );
  const exit = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, stdout, stderr })),
  );
  return { child, firstOutput, exit };
}

/** Runs a command line of npm or npx in a project where the command is installed, in a process group of its own. */
export function startWithNpm(line: string) {
  const folder = temporaryFolder();
  const scripts = { mock: "loyalty-cards-mock --port 0 --json" };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, scripts }));
  const installed = join(folder, "node_modules/.bin/loyalty-cards-mock");
  mkdirSync(dirname(installed), { recursive: true });
  writeFileSync(installed, `#!/bin/sh\nexec "${process.execPath}" "${bundledBin()}" "$@"\n`, { mode: 0o755 });
  const [command = "", ...args] = line.split(" ");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...env, npm_config_update_notifier: "false" },
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

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mock-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

export function temporaryFile(content: string): string {
  const file = join(temporaryFolder(), "seed.json");
  writeFileSync(file, content);
  return file;
}

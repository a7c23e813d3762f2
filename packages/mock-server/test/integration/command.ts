/** Starts the command `mock-server` from its source, as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const bin = fileURLToPath(new URL("../../src/hosts/bin.ts", import.meta.url));

export function start(...args: string[]) {
  const child: ChildProcess = spawn(
    process.execPath,
    ["--conditions=@loyalty-cards/source", "--import", "tsx", bin, ...args],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let [stdout, stderr] = ["", ""];
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const firstOutput = new Promise<string>((resolve) =>
    child.stdout?.on("data", (chunk) => {
      stdout += chunk;
      resolve(stdout);
    }),
  );
  const exit = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, stdout, stderr })),
  );
  return { child, firstOutput, exit };
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

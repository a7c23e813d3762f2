/** Starts a program of a test as a process that the doctor can kill and start again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bundle } from "../integration/bundle.ts";

/**
 * Bundles a program, which then starts in a fraction of the time. It gets its arguments, a port and a file, and prints the port when it
 * listens.
 * @param external packages that are imported from node_modules.
 */
export function bundleProgram(source: URL, external: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "doctor-"));
  const program = bundle(source, folder, "program.mjs", external);

  /** Starts a process with a file of its own. */
  async function start(kind: string) {
    const file = join(mkdtempSync(join(folder, "run-")), "file");
    let port = "0";
    let child: ChildProcess;

    async function run() {
      child = spawn(process.execPath, [program, kind, port, file], { stdio: ["ignore", "pipe", "inherit"] });
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      const exit = once(child, "exit").then(() => {
        throw new Error(`The receiver "${kind}" ended before it listened.`);
      });
      [port] = (await Promise.race([once(lines, "line"), exit])) as [string];
    }
    async function kill() {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
    await run();
    return {
      url: `http://127.0.0.1:${port}/webhooks`,
      async restart() {
        await kill();
        await run();
      },
      close: kill,
    };
  }

  return { start, remove: () => rmSync(folder, { recursive: true }) };
}

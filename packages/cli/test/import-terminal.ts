/** A folder with input files, and a terminal that records what a command prints there. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { main } from "../src/main.ts";
import type { Terminal } from "../src/terminal.ts";

export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  /** What standard input has. */
  stdin?: string;
  /** The width of a terminal with a person, who types `stdin`. */
  columns?: number;
  /** Called with everything that was printed, after each write. */
  onOutput?: (output: string, interrupt: () => void) => void;
}

/** A new folder with these files, removed after the test. */
export function createFolder(files: Record<string, string | Uint8Array> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);

  async function run(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const { env = {}, stdin = "", columns, onOutput } = options;
    const output = { stdout: "", stderr: "" };
    const listeners = new Set<() => void>();
    const interrupt = () => {
      for (const listener of [...listeners]) listener();
    };
    const isTTY = columns !== undefined;
    const createStream = (name: keyof typeof output) => ({
      isTTY,
      columns,
      write(text: string) {
        output[name] += text;
        onOutput?.(output.stdout + output.stderr, interrupt);
      },
    });
    async function* readStdin() {
      yield Buffer.from(stdin);
    }
    const terminal: Terminal = {
      stdin: Object.assign(readStdin(), { isTTY }),
      stdout: createStream("stdout"),
      stderr: createStream("stderr"),
      env,
      cwd: folder,
      onInterrupt(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const exitCode = await main(args, terminal);
    return { exitCode, ...output };
  }
  return { folder, path: (name: string) => join(folder, name), run };
}

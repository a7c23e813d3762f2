/** A folder with input files, a terminal that records what a command prints there, and a service. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { onTestFinished } from "vitest";
import { main } from "../src/main.ts";
import type { Terminal } from "../src/terminal.ts";
import { expectNamesOfVariables } from "./run-command.ts";

export interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  /** What standard input has. */
  stdin?: string;
  /** Standard input does not end after `stdin`. */
  isStdinOpen?: boolean;
  /** The width of a terminal with a person, who types `stdin`. */
  columns?: number;
  /** Called with everything that was printed, after each write. */
  onOutput?: (output: string, interrupt: () => void) => void;
}

/** A new folder with these files, removed after the test. */
export function createFolder(files: Record<string, string | Uint8Array> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }

  async function run(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const { env = {}, stdin = "", isStdinOpen = false, columns, onOutput } = options;
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
      if (isStdinOpen) await new Promise(() => {});
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
    expectNamesOfVariables(output.stdout + output.stderr);
    return { exitCode, ...output };
  }
  return { folder, path: (name: string) => join(folder, name), run };
}

/** Options of an import into the template of the mock service. */
export const args = ["--template", "tpl_mock", "--privacy", "2026-01", "--yes"];
/** Passes the check, and the service rejects it. */
export const shortPhone = "+481234";

export const toPhone = (index: number) => `+48600${100_000 + index}`;
export const toRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index + 1},${toPhone(index)},Member ${index + 1}`);
export const toCsv = (rows: readonly string[]) =>
  `userId,phone,name\n${rows.map((row) => `${row}\n`).join("")}`;

/** A service, and a folder with files; `requests` are those that the service got. */
export async function openShop(files: Record<string, string | Uint8Array>) {
  const requests: string[] = [];
  const { url, service, close } = await startMockServer({
    onTraffic: (_line, event) => {
      if (event.kind === "request") requests.push(`${event.method} ${event.path} ${event.status}`);
    },
  });
  onTestFinished(() => close());
  const folder = createFolder(files);
  const env = { LOYALTY_URL: url, LOYALTY_API_KEY: service.apiKeys.website };
  return {
    ...folder,
    env,
    service,
    requests,
    read: (name: string) => readFileSync(folder.path(name), "utf8"),
    run: (command: readonly string[], options: RunOptions = {}) =>
      folder.run(command, { ...options, env: { ...env, ...options.env } }),
    async countCards() {
      const response = await fetch(`${url}/_mock/cards`);
      return ((await response.json()) as { total: number }).total;
    },
  };
}

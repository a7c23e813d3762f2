/** Runs a command line in this process, with a terminal that records its output. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MockServer, type MockServerOptions, startMockServer } from "@loyalty-cards/mock-server/node";
import { expect, onTestFinished } from "vitest";
import { main } from "../src/main.ts";
import type { Terminal } from "../src/terminal.ts";

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Terminal["env"];
  cwd?: string;
  /** What a person at a terminal types, one chunk per line; without it nothing is a terminal. */
  typed?: readonly string[];
  /** The width of the terminal. */
  columns?: number;
}

/** Without the environment of this process, so that no test depends on it. */
export async function runCommand(
  args: readonly string[],
  { env = {}, cwd, typed, columns }: RunOptions = {},
): Promise<Ran> {
  const output = { stdout: "", stderr: "" };
  const isTTY = typed !== undefined;
  const createStream = (name: keyof typeof output) => ({
    isTTY,
    columns,
    write(text: string) {
      output[name] += text;
    },
  });
  const terminal: Terminal = {
    stdin: Object.assign(readTyped(typed), { isTTY }),
    stdout: createStream("stdout"),
    stderr: createStream("stderr"),
    env,
    cwd: cwd ?? createFolder(),
    onInterrupt: () => () => {},
  };
  const code = await main(args, terminal);
  expectNamesOfVariables(output.stdout + output.stderr);
  return { code, ...output };
}

/** Fails when a message has the name of an option of the client: a person at a terminal sets variables. JSON for programs may have it as a key. */
export function expectNamesOfVariables(output: string): void {
  expect(output).not.toMatch(/(?<!")\b(baseUrl|apiKey|idempotencyNamespace|allowInsecureHttp)\b/);
}

async function* readTyped(lines: readonly string[] = []): AsyncGenerator<Uint8Array, void> {
  for (const line of lines) yield Buffer.from(`${line}\n`);
}

/** An empty folder, until the end of the test. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A mock service on a free port, until the end of the test, and the variables that configure the command for it. */
export async function openMock(
  options: MockServerOptions = {},
): Promise<MockServer & { env: Record<string, string> }> {
  const mock = await startMockServer({ templates: [{ id: "tpl_bakery", name: "Bakery" }], ...options });
  onTestFinished(mock.close);
  const env = {
    LOYALTY_URL: mock.url,
    LOYALTY_API_KEY: mock.service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: "tpl_bakery",
  };
  return { ...mock, env };
}

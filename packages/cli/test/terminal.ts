/**
 * Runs command lines, in this process with a terminal in memory or as processes of their own, and
 * starts mock services and receivers on real sockets.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { RequestListener } from "node:http";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import {
  type MockServer,
  type MockServerOptions,
  startMockServer,
} from "@loyalty-cards/mock-server/node";
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import type { ReceiverOptions, WebhookEvent } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import type { Command } from "commander";
import { expect, inject, onTestFinished } from "vitest";
import { createProgram, main } from "../src/main.ts";
import { Printer, type PrintOptions, type Terminal } from "../src/printer.ts";

export interface RunOptions {
  /** Without the environment of this process, so that no test depends on it. */
  env?: Terminal["env"];
  /** Default: an empty folder. */
  cwd?: string;
  /** What standard input has, or what a person at the terminal types. */
  stdin?: string | Uint8Array;
  /** Standard input does not end after `stdin`. */
  isStdinOpen?: boolean;
  /** A terminal, of 80 columns by default. Otherwise the streams are pipes. */
  isTTY?: boolean;
  columns?: number;
  /** Called with everything that was printed, after each write. */
  onOutput?: (output: string, interrupt: () => void) => void;
}

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** A command that is running. */
export interface Running {
  exit: Promise<Ran>;
  /** Resolves with the whole output, without styles, when it matches. */
  waitFor(pattern: RegExp): Promise<string>;
  interrupt(): void;
}

/** What a command has written. */
function createOutput() {
  const written = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  return {
    written,
    write(name: keyof typeof written, text: string) {
      written[name] += text;
      for (const check of waiting) check();
    },
    waitFor: (pattern: RegExp) =>
      new Promise<string>((resolve) => {
        const check = () => {
          const text = stripVTControlCharacters(written.stdout + written.stderr);
          if (!pattern.test(text)) return;
          waiting.delete(check);
          resolve(text);
        };
        waiting.add(check);
        check();
      }),
  };
}

export function start(args: readonly string[], options: RunOptions = {}): Running {
  const {
    env = {},
    cwd = createFolder(),
    stdin = "",
    isStdinOpen = false,
    isTTY = false,
  } = options;
  const { columns = isTTY ? 80 : undefined, onOutput } = options;
  const { written, write, waitFor } = createOutput();
  const interrupts = new Set<() => void>();
  const interrupt = () => {
    for (const listener of [...interrupts]) listener();
  };
  const createStream = (name: keyof typeof written) => ({
    isTTY,
    columns,
    write(text: string) {
      write(name, text);
      onOutput?.(written.stdout + written.stderr, interrupt);
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
    cwd,
    onInterrupt(listener) {
      interrupts.add(listener);
      return () => void interrupts.delete(listener);
    },
  };
  onTestFinished(interrupt);
  const exit = main(args, terminal).then((code) => {
    expectNamesOfVariables(written.stdout + written.stderr);
    return { code, ...written };
  });
  return { exit, waitFor, interrupt };
}

export const run = (args: readonly string[], options?: RunOptions) => start(args, options).exit;

/**
 * Fails when a message names an option of the client without its variable, which a person at a
 * terminal sets. JSON for programs may have the name as a key.
 */
function expectNamesOfVariables(output: string): void {
  expect(output).not.toMatch(
    /(?<!")\b(?:baseUrl|apiKey|idempotencyNamespace)\b(?! \(LOYALTY_[A-Z_]+\))/,
  );
  expect(output).not.toMatch(/(?<!a program can set )\ballowInsecureHttp\b/);
}

const bin = fileURLToPath(new URL("../src/bin.ts", import.meta.url));
/** The arguments of Node.js that run the sources of a package, in any folder. */
export const sourceFlags = [
  "--conditions=@loyalty-cards/source",
  "--import",
  import.meta.resolve("tsx"),
];

/**
 * The command in the place of an installed `loyalty-cards`: the bundle of the integration tests, or
 * the sources.
 */
export function getProgram(): string[] {
  const bundled: string | undefined = inject("bundledCli"); // undefined in unit tests
  return [process.execPath, ...(bundled === undefined ? [...sourceFlags, bin] : [bundled])];
}

export interface ProcessOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Commands of the shell before it. */
  before?: string;
}

/** Runs a command line as a process of its own. */
export function startProcess(args: readonly string[], options: ProcessOptions = {}) {
  const { cwd = createFolder(), env, before } = options;
  const shell = before === undefined ? [] : ["/bin/sh", "-c", `${before} exec "$@"`, "sh"];
  const [file = "", ...rest] = [...shell, ...getProgram(), ...args];
  const child: ChildProcess = spawn(file, rest, {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const { written, write, waitFor } = createOutput();
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.on("data", (chunk) => write(name, String(chunk)));
  const exit = new Promise<
    Omit<Ran, "code"> & { code: number | null; signal: NodeJS.Signals | null }
  >((resolve) => child.on("close", (code, signal) => resolve({ code, signal, ...written })));
  return { child, exit, waitFor };
}

/** A printer whose output is in memory. */
export function openPrinter(
  options: PrintOptions = {},
  env: Terminal["env"] = {},
  isTTY = true,
  columns = 20,
) {
  const output = { stdout: "", stderr: "" };
  const createStream = (name: keyof typeof output) => ({
    isTTY,
    columns: isTTY ? columns : undefined,
    write(text: string) {
      output[name] += text;
    },
  });
  const streams = { stdout: createStream("stdout"), stderr: createStream("stderr") };
  const print = new Printer({ ...streams, env } as unknown as Terminal, options);
  return { print, output };
}

const stream = { write: () => undefined };
const terminal = { stdout: stream, stderr: stream, env: {} } as unknown as Terminal;
export const program = createProgram({ terminal, args: [], exitCode: 0 });

const listCommands = (
  parent: Command,
  path: readonly string[] = [],
): { path: string; command: Command }[] =>
  parent
    .createHelp()
    .visibleCommands(parent)
    .filter((child) => child.name() !== "help")
    .flatMap((command) => {
      const names = [...path, command.name()];
      return [{ path: names.join(" "), command }, ...listCommands(command, names)];
    });

/** All commands of the tree. */
export const commands = listCommands(program);

export const parseLines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/**
 * A mock service on a free port, until the end of the test, and the variables that configure the
 * command for it.
 */
export async function openMock(
  options: MockServerOptions = {},
): Promise<
  MockServer & { env: Record<"LOYALTY_URL" | "LOYALTY_API_KEY" | "LOYALTY_TEMPLATE_ID", string> }
> {
  const mock = await startMockServer({
    templates: [{ id: "tpl_bakery", name: "Bakery" }],
    ...options,
  });
  onTestFinished(mock.close);
  const { url, service } = mock;
  const env = {
    LOYALTY_URL: url,
    LOYALTY_API_KEY: service.apiKeys.website,
    LOYALTY_TEMPLATE_ID: service.templateId,
  };
  return { ...mock, env };
}

export const secret = "whsec_only_for_tests";

export interface Receiver {
  url: string;
  /** The environment of a command that sends to it. */
  env: { LOYALTY_WEBHOOK_URL: string; LOYALTY_SIGNING_SECRET: string };
  /** What it accepted, with the values of `Service-Delivery`. */
  accepted: { event: WebhookEvent; deliveryId: string | undefined }[];
}

async function openReceiver(
  accepted: Receiver["accepted"],
  listener: RequestListener,
): Promise<Receiver> {
  const url = `${await listen(listener)}/webhooks`;
  return { url, env: { LOYALTY_WEBHOOK_URL: url, LOYALTY_SIGNING_SECRET: secret }, accepted };
}

/** A receiver as users mount it. */
export function startReceiver(options: Pick<ReceiverOptions, "timeoutMs"> = {}): Promise<Receiver> {
  const accepted: Receiver["accepted"] = [];
  const receive = nodeReceiver({
    ...options,
    secret,
    handler: (event, { id }) => void accepted.push({ event, deliveryId: id }),
    log: () => {},
  });
  return openReceiver(accepted, (request, response) => void receive(request, response));
}

/** A receiver that responds the same to everything. */
export const startResponding = (
  status: number,
  headers: Record<string, string> = {},
): Promise<Receiver> =>
  openReceiver([], (request, response) => {
    request.resume().on("end", () => response.writeHead(status, headers).end());
  });

/** The webhook endpoints of a mock service. */
export async function findEndpoints(baseUrl: string): Promise<{ id: string; url: string }[]> {
  const response = await fetch(`${baseUrl}/_mock/webhooks/endpoints`);
  const { items } = (await response.json()) as { items: { id: string; url: string }[] };
  return items;
}

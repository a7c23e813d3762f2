/** Runs a command line in this process, with streams in memory, and starts receivers on real sockets. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { stripVTControlCharacters } from "node:util";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import { onTestFinished } from "vitest";
import { main } from "../src/main.ts";
import type { Terminal } from "../src/terminal.ts";
import { createFolder, expectNamesOfVariables } from "./run-command.ts";

export const secret = "whsec_only_for_tests";

export interface RunOptions {
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string | Uint8Array;
  /** A terminal of 80 columns. Otherwise the output is piped. */
  isTTY?: boolean;
  /** The height of the terminal. */
  rows?: number;
}

/** A command that is running. */
export interface Running {
  exit: Promise<{ code: number; stdout: string; stderr: string }>;
  /** Resolves with the whole output when stdout or stderr matches. */
  waitFor(pattern: RegExp): Promise<string>;
  interrupt(): void;
}

export function start(args: readonly string[], options: RunOptions = {}): Running {
  const { env = {}, cwd = createFolder(), stdin = "", isTTY = false, rows } = options;
  const written = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  const interrupts = new Set<() => void>();
  const createStream = (name: keyof typeof written) => ({
    isTTY,
    columns: isTTY ? 80 : undefined,
    rows,
    write(text: string) {
      written[name] += text;
      for (const check of waiting) check();
    },
  });
  const terminal: Terminal = {
    stdin: (async function* () {
      yield Buffer.from(stdin);
    })(),
    stdout: createStream("stdout"),
    stderr: createStream("stderr"),
    env,
    cwd,
    onInterrupt(listener) {
      interrupts.add(listener);
      return () => void interrupts.delete(listener);
    },
  };
  const interrupt = () => {
    for (const listener of [...interrupts]) listener();
  };
  onTestFinished(interrupt);
  return {
    exit: main(args, terminal).then((code) => {
      expectNamesOfVariables(written.stdout + written.stderr);
      return { code, ...written };
    }),
    waitFor: (pattern) =>
      new Promise((resolve) => {
        const check = () => {
          const text = stripVTControlCharacters(written.stdout + written.stderr);
          if (!pattern.test(text)) return;
          waiting.delete(check);
          resolve(text);
        };
        waiting.add(check);
        check();
      }),
    interrupt,
  };
}

export const run = (args: readonly string[], options?: RunOptions) => start(args, options).exit;

export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

export interface Receiver {
  url: string;
  /** The environment of a command that sends to it. */
  env: { LOYALTY_WEBHOOK_URL: string; LOYALTY_SIGNING_SECRET: string };
  /** What it accepted, with the values of `Service-Delivery`. */
  accepted: { event: WebhookEvent; deliveryId: string | undefined }[];
}

/** A receiver as users mount it. */
export async function startReceiver(options: { timeoutMs?: number } = {}): Promise<Receiver> {
  const accepted: Receiver["accepted"] = [];
  const receive = nodeReceiver({
    ...options,
    secret,
    handler: (event, { id }) => void accepted.push({ event, deliveryId: id }),
    log: () => {},
  });
  const url = await listen((request, response) => void receive(request, response));
  return { url, env: { LOYALTY_WEBHOOK_URL: url, LOYALTY_SIGNING_SECRET: secret }, accepted };
}

/** A receiver that responds the same to everything. */
export async function startResponding(
  status: number,
  headers: Record<string, string> = {},
): Promise<Receiver> {
  const url = await listen((request, response) => {
    request.resume().on("end", () => response.writeHead(status, headers).end());
  });
  return { url, env: { LOYALTY_WEBHOOK_URL: url, LOYALTY_SIGNING_SECRET: secret }, accepted: [] };
}

export const parseLines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** The webhook endpoints of a mock service. */
export async function findEndpoints(baseUrl: string): Promise<{ id: string; url: string }[]> {
  const response = await fetch(`${baseUrl}/_mock/webhooks/endpoints`);
  const { items } = (await response.json()) as { items: { id: string; url: string }[] };
  return items;
}

#!/usr/bin/env node
/** The command `mock-server`: the service on a port until Ctrl-C, or for as long as another command runs. */
import { parseArgs } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { type MockServer, startMockServer } from "./node.ts";
import { exec } from "./node-exec.ts";
import { readSeed } from "./node-seed.ts";

const { version } = packageJson;

const help = `Usage: mock-server [options]
       mock-server exec [options] -- <command> [arguments]

The whole Loyalty Card Issuing Service on this machine. With exec: starts it, runs the command with LOYALTY_URL,
LOYALTY_API_KEY, LOYALTY_FULL_API_KEY, LOYALTY_TEMPLATE_ID, LOYALTY_CONSOLE_URL and, when the seed has an endpoint,
LOYALTY_SIGNING_SECRET in its environment, shuts down, and passes on the command's exit code.

  --port <number>   default 4010; 0 takes any free port, and is the default of exec
  --host <address>  default 127.0.0.1
  --seed <file>     JSON: { "defaultCountry", "templates": [...], "endpoints": [{ "url", "events" }] }
  --data <file>     keep everything in this file; once it exists, it wins over the seed
  --strict          hold every answer and every event against the OpenAPI document
  --json            print one line of JSON when ready
  --help            print this
  --version         print the version`;

async function main(): Promise<number | undefined> {
  const { args, command } = split(process.argv.slice(2));
  const { values } = parseArgs({
    args,
    options: {
      port: { type: "string", default: command === undefined ? "4010" : "0" },
      host: { type: "string", default: "127.0.0.1" },
      seed: { type: "string" },
      data: { type: "string" },
      strict: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      version: { type: "boolean", default: false },
    },
  });
  if (values.help || values.version) {
    console.log(values.help ? help : version);
    return undefined;
  }
  const [program, ...programArgs] = command ?? [];
  if (command !== undefined && program === undefined) {
    throw new TypeError("exec needs a command: mock-server exec -- npm test. See --help.");
  }
  const seed = values.seed === undefined ? {} : readSeed(values.seed);
  const { host, strict, data } = values;
  const server = await startMockServer({
    ...seed,
    port: portOf(values.port),
    host,
    strict,
    ...(data !== undefined && { data }),
  });
  if (program !== undefined) return await exec(server, program, programArgs).finally(server.close);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void server.close().then(() => process.exit(0)));
  }
  console.log(values.json ? jsonLine(server) : banner(server));
  return undefined;
}

/** `exec [options] -- command`: the options are ours, what follows is another's. */
function split(given: readonly string[]): { args: string[]; command?: string[] } {
  if (given[0] !== "exec") return { args: [...given] };
  const at = given.indexOf("--");
  return at < 0
    ? { args: given.slice(1), command: [] }
    : { args: given.slice(1, at), command: given.slice(at + 1) };
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new TypeError(`--port takes a number from 0 to 65535, not "${text}".`);
}

function jsonLine({ url, service }: MockServer): string {
  const { apiKeys, templateId, endpoints } = service;
  const seeded = endpoints.length === 0 ? {} : { endpoints };
  return JSON.stringify({ baseUrl: url, apiKeys, templateId, console: `${url}/console`, ...seeded });
}

function banner({ url, service }: MockServer): string {
  const rows = [
    ["Base URL", url],
    ["Website key", service.apiKeys.website],
    ["Full key", service.apiKeys.full],
    ["Template", service.templateId],
    ["Console", `${url}/console`],
    ["OpenAPI", `${url}/api/docs/json`],
    ...service.endpoints.map((endpoint) => [`Secret of ${endpoint.url}`, endpoint.secret]),
  ];
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  return rows.map(([name = "", value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

function messageOf(error: unknown): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "The port is taken; choose another with --port, or 0 for any free one.";
  if (syscall?.startsWith("spawn")) return `The command cannot be run: ${message}.`;
  const [line = ""] = String(message).split("\n");
  return code?.startsWith("ERR_PARSE_ARGS") ? `${line} See --help.` : line;
}

main().then(
  (exitCode) => {
    // At once: deliveries that are under way are nobody's concern when the command has ended.
    if (exitCode !== undefined) process.exit(exitCode);
  },
  (error: unknown) => {
    console.error(`mock-server: ${messageOf(error)}`);
    process.exitCode = (error as NodeJS.ErrnoException).syscall?.startsWith("spawn") ? 127 : 2;
  },
);

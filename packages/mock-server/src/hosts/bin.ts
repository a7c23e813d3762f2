#!/usr/bin/env node
/** The command `loyalty-cards-mock`: the service on a port until Ctrl-C, or for as long as another command runs. */
import { parseArgs } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { type MockServer, startMockServer } from "./node.ts";
import { exec, watchParent } from "./node-exec.ts";
import { readSeed } from "./node-seed.ts";

const { version } = packageJson;
const parentId = process.ppid;

const help = `Usage: loyalty-cards-mock [options]
       loyalty-cards-mock exec [options] -- <command> [arguments]

The whole Loyalty Card Issuing Service on this machine. With exec: starts it, runs the command with LOYALTY_URL,
LOYALTY_API_KEY, LOYALTY_FULL_API_KEY, LOYALTY_TEMPLATE_ID, LOYALTY_CONSOLE_URL and, when the seed has an endpoint,
LOYALTY_SIGNING_SECRET in its environment, shuts down, and passes on the command's exit code.

  --port <number>   default 4010; 0 takes any free port, and is the default of exec
  --host <address>  default 127.0.0.1
  --seed <file>     JSON: { "defaultCountry", "templates": [...], "endpoints": [{ "url", "events", "secret"? }] }
  --data <file>     keep everything in this file; once it exists, it wins over the seed; one server at a time
  --allow-private-endpoints
                    allow webhook endpoints with https:// addresses of private networks
  --store-refusals  store a 404 or 422 under its idempotency key for 24 hours, as some services do
  --strict          hold every answer and every event against the OpenAPI document
  --quiet           print no line per request and per delivery attempt (they go to stderr)
  --json            print one line of JSON when ready
  --help            print this
  --version         print the version`;

async function main(): Promise<number | undefined> {
  const { args, command } = split(process.argv.slice(2));
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: command !== undefined,
    options: {
      port: { type: "string", default: command === undefined ? "4010" : "0" },
      host: { type: "string", default: "127.0.0.1" },
      seed: { type: "string" },
      data: { type: "string" },
      "allow-private-endpoints": { type: "boolean", default: false },
      "store-refusals": { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      quiet: { type: "boolean", default: false },
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
  if (command !== undefined && (program === undefined || positionals.length > 0)) {
    throw new TypeError(needsDashes);
  }
  const seed = values.seed === undefined ? {} : readSeed(values.seed);
  const { host, strict, data } = values;
  const server = await startMockServer({
    ...seed,
    port: portOf(values.port),
    host,
    strict,
    allowPrivateEndpoints: values["allow-private-endpoints"],
    ...(values["store-refusals"] && { storeRefusals: true }),
    ...(!values.quiet && { onTraffic: (line: string) => console.error(line) }),
    ...(data !== undefined && { data }),
  });
  if (program !== undefined) return await exec(server, parentId, program, programArgs).finally(server.close);
  const stop = () => void server.close().then(() => process.exit(0));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  watchParent(parentId, stop);
  console.log(values.json ? jsonLine(server) : banner(server));
  return undefined;
}

const needsDashes =
  "exec needs a command, after two dashes: loyalty-cards-mock exec -- npm test. (`npm exec` removes the first two dashes: use npx.) See --help.";

/** `exec [options] -- command`: the options are ours, what follows is another's. */
function split(given: readonly string[]): { args: string[]; command?: string[] } {
  if (given[0] !== "exec") return { args: [...given] };
  const at = given.indexOf("--");
  const isQuestion = given.some((arg) => ["--help", "-h", "--version"].includes(arg));
  // Without dashes an option may be the command's: "unknown option" would name the wrong mistake.
  if (at < 0 && !isQuestion) throw new TypeError(needsDashes);
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
  const { code, message, syscall, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === "EADDRINUSE") {
    return `Port ${port} is taken, perhaps by a mock server that still runs. Stop that program, or choose another port with --port; --port 0 takes any free one.`;
  }
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
    console.error(`loyalty-cards-mock: ${messageOf(error)}`);
    process.exitCode = (error as NodeJS.ErrnoException).syscall?.startsWith("spawn") ? 127 : 2;
  },
);

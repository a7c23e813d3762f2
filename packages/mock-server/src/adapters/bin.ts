/** The command `loyalty-cards-mock`: runs the service on a port until Ctrl-C, or while another command runs. */
import { parseArgs } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { type MockServer, startMockServer } from "./node.ts";
import { runCommand, watchParent } from "./node-exec.ts";
import { readSeed } from "./node-seed.ts";

const { version } = packageJson;

const help = `Usage: loyalty-cards-mock [options]
       loyalty-cards-mock exec [options] -- <command> [arguments]

Runs a mock of the Loyalty Card Issuing Service on this machine, with a console at /console.

exec starts the service, runs the command, stops the service, and exits with the exit code of the command. The
environment of the command has LOYALTY_URL, LOYALTY_API_KEY, LOYALTY_FULL_API_KEY, LOYALTY_TEMPLATE_ID,
LOYALTY_CONSOLE_URL and, when the seed has an endpoint, LOYALTY_SIGNING_SECRET.

Options:
  --port <number>   port to listen on; 0 selects a free port (default: 4010; with exec: 0)
  --host <address>  address to listen on (default: 127.0.0.1)
  --seed <file>     JSON: { "defaultCountry", "templates": [...], "endpoints": [{ "url", "events", "secret"? }] }
  --data <file>     store everything in this file; an existing file takes precedence over --seed
  --allow-private-endpoints
                    allow webhook endpoints with https:// addresses of private networks
  --store-refusals  store a 404 or 422 under its idempotency key for 24 hours
  --quiet           do not print a line on stderr per request and per delivery attempt
  --json            print one line of JSON when ready
  --help, -h        print this help
  --version         print the version`;

async function main(): Promise<number | undefined> {
  const { args, command } = splitArguments(process.argv.slice(2));
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
  const { host, data } = values;
  const server = await startMockServer({
    ...seed,
    port: parsePort(values.port),
    host,
    allowPrivateEndpoints: values["allow-private-endpoints"],
    ...(values["store-refusals"] && { storeRefusals: true }),
    ...(!values.quiet && { onTraffic: (line: string) => console.error(line) }),
    ...(data !== undefined && { data }),
  });
  if (program !== undefined) return await runCommand(server, program, programArgs).finally(server.close);
  const stop = () => void server.close().then(() => process.exit(0));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  watchParent(stop);
  console.log(values.json ? formatJson(server) : formatBanner(server));
  return undefined;
}

const needsDashes =
  "exec needs a command, after two dashes: loyalty-cards-mock exec -- npm test. (`npm exec` removes the first two dashes; use npx instead.) See --help.";

/** Splits `exec [options] -- command` into our options and the command. */
function splitArguments(argv: readonly string[]): { args: string[]; command?: string[] } {
  if (argv[0] !== "exec") return { args: [...argv] };
  const at = argv.indexOf("--");
  const isInformation = argv.some((arg) => ["--help", "-h", "--version"].includes(arg));
  // Without dashes an option may belong to the command, and "unknown option" would name the wrong mistake.
  if (at < 0 && !isInformation) throw new TypeError(needsDashes);
  return at < 0
    ? { args: argv.slice(1), command: [] }
    : { args: argv.slice(1, at), command: argv.slice(at + 1) };
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new TypeError(`--port takes a number from 0 to 65535, not "${text}".`);
}

function formatJson({ url, service }: MockServer): string {
  const { apiKeys, templateId, endpoints } = service;
  const seeded = endpoints.length === 0 ? {} : { endpoints };
  return JSON.stringify({ baseUrl: url, apiKeys, templateId, console: `${url}/console`, ...seeded });
}

function formatBanner({ url, service }: MockServer): string {
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

function formatError(error: unknown): string {
  const { code, message, syscall, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === "EADDRINUSE") {
    return `Port ${port} is already in use, perhaps by another mock server. Stop that program, or select another port with --port; --port 0 selects a free one.`;
  }
  if (syscall?.startsWith("spawn")) return `The command cannot be run: ${message}.`;
  const [line = ""] = String(message).split("\n");
  return code?.startsWith("ERR_PARSE_ARGS") ? `${line} See --help.` : line;
}

main().then(
  (exitCode) => {
    // Without waiting for pending deliveries: the command has ended.
    if (exitCode !== undefined) process.exit(exitCode);
  },
  (error: unknown) => {
    console.error(`loyalty-cards-mock: ${formatError(error)}`);
    const { code, syscall } = error as NodeJS.ErrnoException;
    const isStart = syscall?.startsWith("spawn");
    process.exitCode = isStart ? (code === "ENOENT" ? 127 : 126) : 2; // as shells do
  },
);

/** The command `loyalty-cards-mock`: runs the service on a port until Ctrl-C. */
import { parseArgs } from "node:util";
import { escapeControls } from "@loyalty-cards/internal/format";
import { watchParent } from "@loyalty-cards/internal/node-parent";
import packageJson from "../../package.json" with { type: "json" };
import { startMockServer } from "./node.ts";

const { version } = packageJson;

const help = `Usage: loyalty-cards-mock [options]

Runs a mock of the Loyalty Card Issuing Service on this machine, with a console at /console, until Ctrl-C.
To run it while another command runs, such as your tests, use \`loyalty-cards exec\` of @loyalty-cards/cli.

Options:
  --port <number>   port to listen on; 0 selects a free port (default: 4010)
  --host <address>  address to listen on (default: 127.0.0.1)
  --seed <file>     JSON: { "defaultCountry", "templates": [...], "endpoints": [{ "url", "events", "secret"? }] }
  --data <file>     store everything in this file; an existing file takes precedence over --seed
  --quiet           do not print a line of JSON on stderr per request and per delivery attempt
  --json            print the JSON about the service on one line
  --help, -h        print this help
  --version         print the version`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "4010" },
      host: { type: "string", default: "127.0.0.1" },
      seed: { type: "string" },
      data: { type: "string" },
      quiet: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      version: { type: "boolean", default: false },
    },
  });
  if (values.help || values.version) return console.log(values.help ? help : version);
  const { host, seed, data } = values;
  const server = await startMockServer({
    port: parsePort(values.port),
    host,
    ...(!values.quiet && { onTraffic: (event) => console.error(formatJson(event)) }),
    seedFile: seed,
    dataFile: data,
  });
  const stop = () =>
    void server.close().then(
      () => process.exit(0),
      (error) => fail(error, 1),
    );
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  watchParent(stop);
  const { apiKeys, templateId, endpoints } = server.service;
  const settings = { baseUrl: server.url, apiKeys, templateId, console: `${server.url}/console` };
  const all = endpoints.length === 0 ? settings : { ...settings, endpoints };
  console.log(formatJson(all, values.json ? undefined : 2));
}

/** Control characters are inside strings, where the escaped form has the same meaning. */
const formatJson = (value: unknown, indentation?: number) =>
  JSON.stringify(value, null, indentation).split("\n").map(escapeControls).join("\n");

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new TypeError(`--port takes a number from 0 to 65535, not "${text}".`);
}

/** Prints the error, and exits when what it printed is written. */
function fail({ code, message }: NodeJS.ErrnoException, exitCode: number): void {
  const [line = ""] = message.split("\n");
  const isUsageError = code?.startsWith("ERR_PARSE_ARGS");
  const text = isUsageError ? `${line.replace(/\.$/, "")}. See --help.` : line;
  process.stderr.write(`loyalty-cards-mock: ${escapeControls(text)}\n`, () =>
    process.exit(exitCode),
  );
}

main().catch((error) => fail(error, 2));

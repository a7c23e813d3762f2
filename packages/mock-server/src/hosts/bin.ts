#!/usr/bin/env node
/** The command `mock-server`: the service on a port, until Ctrl-C. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import type { MockServiceOptions } from "../options.ts";
import { type MockServer, startMockServer } from "./node.ts";

const { version } = packageJson;

const help = `Usage: mock-server [--port 4010] [--host 127.0.0.1] [--seed seed.json] [--json]

The whole Loyalty Card Issuing Service on this machine.

  --port <number>   default 4010; 0 takes any free port
  --host <address>  default 127.0.0.1
  --seed <file>     JSON: { "defaultCountry", "templates": [...], "endpoints": [{ "url", "events" }] }
  --json            print one line of JSON when ready
  --help            print this
  --version         print the version`;

/** What a seed file may hold. */
type Seed = Pick<MockServiceOptions, "defaultCountry" | "templates" | "endpoints">;

const seedMembers = ["defaultCountry", "templates", "endpoints"];

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "4010" },
      host: { type: "string", default: "127.0.0.1" },
      seed: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      version: { type: "boolean", default: false },
    },
  });
  if (values.help || values.version) {
    console.log(values.help ? help : version);
    return;
  }
  const seed = values.seed === undefined ? {} : readSeed(values.seed);
  const server = await startMockServer({ ...seed, port: portOf(values.port), host: values.host });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void server.close().then(() => process.exit(0)));
  }
  console.log(values.json ? jsonLine(server) : banner(server));
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new TypeError(`--port takes a number from 0 to 65535, not "${text}".`);
}

function readSeed(file: string): Seed {
  try {
    return checkedSeed(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new Error(`--seed ${file} cannot be used: ${messageOf(error)}`);
  }
}

/** Names what is wrong with a file that somebody wrote by hand; what templates and endpoints hold, the service checks. */
function checkedSeed(seed: unknown): Seed {
  if (!isObject(seed)) throw new TypeError("it is not an object.");
  const unknown = Object.keys(seed).filter((name) => !seedMembers.includes(name));
  if (unknown.length > 0) throw new TypeError(`it has "${unknown[0]}"; there are ${seedMembers.join(", ")}.`);
  for (const [name, list] of Object.entries(seed)) {
    if (name === "defaultCountry") continue;
    if (!Array.isArray(list) || !list.every(isObject))
      throw new TypeError(`"${name}" is not a list of objects.`);
    for (const entry of list) {
      for (const inner of ["fields", "tiers", "events"]) {
        const value = (entry as Record<string, unknown>)[inner];
        if (value !== undefined && !Array.isArray(value))
          throw new TypeError(`"${inner}" in "${name}" is not a list.`);
      }
    }
  }
  return seed as Seed;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
    ["OpenAPI", `${url}/api/docs/json`],
    ...service.endpoints.map((endpoint) => [`Secret of ${endpoint.url}`, endpoint.secret]),
  ];
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  return rows.map(([name = "", value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

function messageOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "The port is taken; choose another with --port, or 0 for any free one.";
  const [line = ""] = String(message).split("\n");
  return code?.startsWith("ERR_PARSE_ARGS") ? `${line} See --help.` : line;
}

main().catch((error: unknown) => {
  console.error(`mock-server: ${messageOf(error)}`);
  process.exitCode = 2;
});

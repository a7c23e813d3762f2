#!/usr/bin/env node
/** The command `mock-server`: the service on a port, until Ctrl-C. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { EndpointInput } from "../delivery/endpoints.ts";
import type { MockServiceOptions } from "../options.ts";
import { type MockServer, startMockServer } from "./node.ts";

const help = `Usage: mock-server [--port 4010] [--host 127.0.0.1] [--seed seed.json] [--json]

The whole Loyalty Card Issuing Service on this machine.

  --port <number>   default 4010; 0 takes any free port
  --host <address>  default 127.0.0.1
  --seed <file>     JSON: { "defaultCountry", "templates": [...], "endpoints": [{ "url", "events" }] }
  --json            print one line of JSON when ready
  --help            print this`;

/** What a seed file may hold. */
interface Seed extends Pick<MockServiceOptions, "defaultCountry" | "templates"> {
  endpoints?: readonly EndpointInput[];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "4010" },
      host: { type: "string", default: "127.0.0.1" },
      seed: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return;
  }
  const { endpoints = [], ...seed } = values.seed === undefined ? {} : readSeed(values.seed);
  const server = await startMockServer({ port: portOf(values.port), host: values.host, ...seed });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
  try {
    const secrets = endpoints.map(({ url, events }) => ({
      url,
      secret: server.service.webhooks.createEndpoint({ url, events }).secret,
    }));
    console.log(values.json ? jsonLine(server) : banner(server, secrets));
  } catch (error) {
    await server.close();
    throw error;
  }
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new TypeError(`--port takes a number from 0 to 65535, not "${text}".`);
}

function readSeed(file: string): Seed {
  try {
    const seed: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof seed !== "object" || seed === null || Array.isArray(seed))
      throw new TypeError("it is not an object");
    return seed;
  } catch (error) {
    throw new Error(`--seed ${file} cannot be read: ${messageOf(error)}`);
  }
}

function jsonLine({ url, service }: MockServer): string {
  const { apiKeys, templateId } = service;
  return JSON.stringify({ baseUrl: url, apiKeys, templateId, console: `${url}/console` });
}

function banner({ url, service }: MockServer, endpoints: readonly { url: string; secret: string }[]): string {
  const rows = [
    ["Base URL", url],
    ["Website key", service.apiKeys.website],
    ["Full key", service.apiKeys.full],
    ["Template", service.templateId],
    ["OpenAPI", `${url}/api/docs/json`],
    ...endpoints.map((endpoint) => [`Secret of ${endpoint.url}`, endpoint.secret]),
  ];
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  return rows.map(([name = "", value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

function messageOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "The port is taken; choose another with --port, or 0 for any free one.";
  return String(message).split("\n")[0] ?? "";
}

main().catch((error: unknown) => {
  console.error(`mock-server: ${messageOf(error)}`);
  process.exitCode = 2;
});

/** The mock service that `dev` and `exec` start: its options, and the endpoint of `--forward`. */
import { resolve } from "node:path";
import type { EndpointInput } from "@loyalty-cards/mock-server";
import type { MockServer, TrafficEvent } from "@loyalty-cards/mock-server/node";
import { type Command, InvalidArgumentError } from "commander";
import { type Context, parseWhole } from "./command.ts";
import { CommandError } from "./command-error.ts";
import { nameVariables } from "./error-message.ts";
import { style, Text } from "./printable.ts";
import { defaultSecretVariable, knownTypes } from "./webhook/delivery.ts";

/** The service validates the names. */
type EventTypes = EndpointInput["events"];

export interface ServiceOptions {
  port: number;
  seed?: string;
  data?: string;
  forward?: string;
  events?: string[];
  timeFactor?: number;
}

export function addServiceOptions(command: Command, port: number): void {
  command
    .option("--port <number>", "port to listen on; 0: any free port", parseWhole(0, 65_535), port)
    .option("--seed <file>", "JSON file with templates and webhook endpoints")
    .option("--data <file>", "store everything in this file; an existing one takes precedence over --seed")
    .option("--forward <url>", "send webhooks to this address")
    .option("--events <types>", "with --forward: only these, separated by commas", parseList)
    .option("--time-factor <number>", "run the service's clock this many times as fast", parseFactor);
}

function parseList(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

function parseFactor(text: string): number {
  const factor = Number(text);
  if (factor > 0 && factor <= 1_000_000) return factor;
  throw new InvalidArgumentError("It must be a number above 0, at most 1000000.");
}

/** The endpoint of `--forward`. */
export interface Forwarded {
  url: string;
  events: readonly string[];
  secret: string;
}

export interface RunningService {
  server: MockServer;
  forwarded?: Forwarded;
  /** The signing secret of `--forward`, or else of the first endpoint of the seed file. */
  signingSecret: string | undefined;
}

/** @throws {CommandError} for a port in use, and for options and files that the service rejects. */
export async function startService(
  { print, environment, terminal }: Context,
  { port, seed, data, forward, events, timeFactor }: ServiceOptions,
  onTraffic: (event: TrafficEvent) => void,
): Promise<RunningService> {
  const { startMockServer } = await import("@loyalty-cards/mock-server/node");
  if (events !== undefined && forward === undefined) throw new CommandError("--events needs --forward.");
  // A secret in .env stays the same when the service starts again.
  const secret = environment[defaultSecretVariable];
  const types = (events ?? knownTypes) as EventTypes;
  let server: MockServer | undefined;
  try {
    server = await startMockServer({
      port,
      ...(seed !== undefined && { seedFile: resolve(terminal.cwd, seed) }),
      ...(data !== undefined && { dataFile: resolve(terminal.cwd, data) }),
      ...(forward !== undefined && {
        endpoints: [{ url: forward, events: types, ...(secret && { secret }) }],
      }),
      log: (message) =>
        print.info(style("yellow", Text.from(nameVariables(message)).reflow(print.messageColumns))),
      onTraffic: (_line, event) => onTraffic(event),
    });
    if (timeFactor !== undefined) server.service.clock.set({ mode: "scaled", factor: timeFactor });
    if (forward === undefined) return { server, signingSecret: server.service.endpoints[0]?.secret };
    const forwarded = await findForwarded(server, forward, events);
    return { server, forwarded, signingSecret: forwarded.secret };
  } catch (error) {
    await server?.close();
    throw new CommandError((error as Error).message);
  }
}

/** Finds or creates the endpoint of `--forward`, and returns its secret. A data file can contain the endpoint from an earlier start. */
async function findForwarded(
  { url: baseUrl, service }: MockServer,
  url: string,
  events: string[] | undefined,
): Promise<Forwarded> {
  const get = async (path: string) => (await fetch(`${baseUrl}/_mock/webhooks/endpoints${path}`)).json();
  const { items } = (await get("")) as { items: { id: string; url: string; events: string[] }[] };
  const known = items.find((item) => item.url === url);
  if (known === undefined) {
    const all = (events ?? knownTypes) as EventTypes;
    return { url, events: all, secret: service.webhooks.createEndpoint({ url, events: all }).secret };
  }
  const changed = events && service.webhooks.updateEndpoint(known.id, { events: events as EventTypes });
  const { secret } = (await get(`/${known.id}/secret`)) as { secret: string };
  return { url, events: changed?.events ?? known.events, secret };
}

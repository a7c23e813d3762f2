/** The mock service that `dev` and `exec` start: its options, and the endpoint of `--forward`. */
import { resolve } from "node:path";
import type { MockServer, TrafficEvent } from "@loyalty-cards/mock-server/node";
import { eventTypes } from "@loyalty-cards/openapi/events";
import type { Command } from "commander";
import { type Context, parseWhole } from "./command.ts";
import { CommandError } from "./command-error.ts";
import { requireScheme } from "./configuration.ts";
import { style } from "./printable.ts";

export interface ServiceOptions {
  port: number;
  seed?: string;
  data?: string;
  forward?: string;
}

export function addServiceOptions(command: Command, port: number): void {
  command
    .option("--port <number>", "port to listen on; 0: any free port", parseWhole(0, 65_535), port)
    .option("--seed <file>", "JSON file with templates and webhook endpoints")
    .option(
      "--data <file>",
      "store everything in this file; an existing one takes precedence over --seed",
    )
    .option("--forward <url>", "send the webhooks of every event to this address");
}

/**
 * Starts the mock service. With `--forward`, its first endpoint has that address.
 * @param onTraffic also gets whether there are several receivers.
 * @throws {CommandError} for a port in use, and for options and files that the service rejects.
 */
export async function startService(
  { print, environment, terminal }: Context,
  { port, seed, data, forward }: ServiceOptions,
  onTraffic: (event: TrafficEvent, hasSeveral: boolean) => void,
): Promise<MockServer> {
  const { startMockServer } = await import("@loyalty-cards/mock-server/node");
  if (forward !== undefined) requireScheme("--forward", forward);
  // A secret in .env stays the same when the service starts again.
  const secret = environment.LOYALTY_SIGNING_SECRET;
  const endpoint = forward && { url: forward, events: eventTypes, ...(secret && { secret }) };
  const toPath = (file: string | undefined) =>
    file === undefined ? undefined : resolve(terminal.cwd, file);
  const receivers = new Set<string>();
  try {
    const server = await startMockServer({
      port,
      seedFile: toPath(seed),
      dataFile: toPath(data),
      ...(endpoint && { endpoints: [endpoint], forwardTo: endpoint.url }),
      log: (message) => print.info(style("yellow", message)),
      onTraffic(event) {
        if (event.kind === "delivery") receivers.add(event.url); // the console can add endpoints
        onTraffic(event, receivers.size > 1);
      },
    });
    for (const { url } of server.service.endpoints) {
      const { origin, pathname } = new URL(url); // the event has no query
      receivers.add(origin + pathname);
    }
    return server;
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

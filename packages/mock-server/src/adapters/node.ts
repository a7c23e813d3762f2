/** Node adapter: the service on a port of this machine, with the interactive API reference. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { checkTypes, type MockServiceOptions } from "../backend/options.ts";
import { scaledClock } from "../domain/clock.ts";
import type { App } from "../http/app.ts";
import type { Reply } from "../http/reply.ts";
import { createCore, type MockService } from "../service.ts";
import { readDataFile, startSaving } from "./node-data-file.ts";
import { addReference } from "./node-reference.ts";
import { addSeed } from "./node-seed.ts";
import { listenToTraffic, type TrafficEvent } from "./node-traffic.ts";

export type { TrafficEvent } from "./node-traffic.ts";

/** The options of the service, and the address it listens on. */
export interface MockServerOptions extends Omit<MockServiceOptions, "baseUrl"> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1: reachable from this machine only. */
  host?: string;
  /**
   * A JSON file with `templates`, `endpoints` and `defaultCountry`. Options take precedence over its members; the
   * `endpoints` of both exist, those of the options first.
   */
  seedFile?: string;
  /**
   * A file that stores all data, as one JSON snapshot. An existing file takes precedence over the templates, endpoints and clock of the
   * options. It is written soon after a change, and by `close()`. A process that is killed loses the changes of the last moments: of
   * 200 ms, or of eleven times as long as a write takes where that is longer.
   */
  dataFile?: string;
  /**
   * Called for each API request and each delivery attempt, with the warnings of the request, which `log` then does not get. An event
   * contains no queries, keys or secrets, and of bodies only the start of a receiver's failure. Default: not called.
   * @example
   * ```ts
   * import { startMockServer } from "@loyalty-cards/mock-server/node";
   *
   * await startMockServer({ onTraffic: (event) => console.error(event) });
   * ```
   */
  onTraffic?: (event: TrafficEvent) => void;
  /** Internal: set by tests only. */
  testing?: {
    /** The time limit for receiving a request, in milliseconds. Default 30 000. */
    requestTimeoutMs?: number;
  };
}

/** A service on a port. */
export interface MockServer {
  /** The service's base URL. */
  url: string;
  service: MockService;
  close(): Promise<void>;
  /** `close()` at the end of the block: `await using server = await startMockServer()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts the service on a port, on a clock that runs and can be moved.
 * @param options those of `createMockService`, and `port` (default 0: any free port), `host` (default `127.0.0.1`), and the files
 * `seedFile` and `dataFile`.
 * @throws {Error} with code `EADDRINUSE` when the port is taken; the message names the port.
 * @throws {Error} when a file cannot be used; the message names the file.
 * @example
 * ```ts
 * import { createIssuingClient } from "@loyalty-cards/issuing-client";
 * import { startMockServer } from "@loyalty-cards/mock-server/node";
 *
 * const { url, service, close } = await startMockServer();
 * const loyalty = createIssuingClient({ baseUrl: url, apiKey: service.apiKeys.website });
 * const customer = { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } };
 * await loyalty.issueCard(service.templateId, { fieldValues: { name: "Anna" }, customer }, { userId: 42 });
 * await close();
 * ```
 */
export async function startMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  checkTypes(options);
  const { port = 0, host = "127.0.0.1", seedFile, dataFile, onTraffic, testing, ...given } = options;
  const { log = console.error } = given;
  const { requestTimeoutMs = 30_000 } = testing ?? {};
  const serviceOptions = seedFile === undefined ? given : addSeed(given, seedFile);
  const saved = dataFile === undefined ? undefined : await readDataFile(dataFile);
  let app: App | undefined;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 10_000),
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
    },
    getRequestListener(
      (request, { incoming, outgoing }) =>
        app?.fetch(request, {
          write: (reply) => sendReply(reply, incoming as IncomingMessage, outgoing as ServerResponse),
        }),
      // Not the faster Request and Response, because they would replace the global ones of the user's tests.
      { hostname: "localhost", overrideGlobalObjects: false },
    ),
  );
  await new Promise<void>((resolve, reject) => {
    // The listener is not removed: a later error, while accepting a connection, must not end the process.
    server.on("error", (error) => reject(describePortInUse(error)));
    server.listen(port, host, resolve);
  });
  const stopListening = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const address = server.address() as AddressInfo;
  const url = `http://${toReachableHost(host)}:${address.port}`;
  try {
    const core = createCore(
      {
        clock: scaledClock(),
        ...serviceOptions,
        ...saved?.options,
        baseUrl: url,
        ...(onTraffic && { log: () => {} }), // the traffic has the warnings
        // On other addresses every host name is allowed, because the names of this machine in its network are unknown.
        acceptsAnyHost: !isLoopback(toHostname(host)),
      },
      addReference,
    );
    const { service, backend } = core;
    if (onTraffic !== undefined) listenToTraffic(backend, onTraffic);
    if (saved !== undefined) {
      backend.ids.continueAfter(saved.newestId);
      backend.restore(saved.state);
    }
    const stopSaving = dataFile === undefined ? undefined : await startSaving(dataFile, backend, log);
    app = core.app;
    const close = async () => {
      backend.dispatcher.close();
      await stopListening();
      await stopSaving?.();
    };
    return { url, service, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await stopListening();
    throw error;
  }
}

/** @returns other errors unchanged. */
function describePortInUse(error: NodeJS.ErrnoException & { port?: number }): Error {
  const { code, port } = error;
  if (code !== "EADDRINUSE") return error;
  const message = `Port ${port} is already in use, perhaps by another mock server. Stop that program, or select another port with --port; --port 0 selects a free one.`;
  return Object.assign(new Error(message, { cause: error }), { code });
}

/** The host in links. `0.0.0.0` and `::` mean all interfaces, so links use loopback instead. */
const toReachableHost = (host: string) =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : toHostname(host);

const toHostname = (host: string) => (host.includes(":") ? `[${host}]` : host);

/**
 * To respond and close while the client is still sending would reset the connection, so the rest of the body is read first. Without
 * its listeners: that of the body as a web stream, whose rest is not read, would pause it.
 */
function sendReply(reply: Reply, incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || reply.fault !== undefined) writeReply(reply, outgoing);
  else
    incoming
      .removeAllListeners("data")
      .resume()
      .once("end", () => writeReply(reply, outgoing));
}

function writeReply(reply: Reply, outgoing: ServerResponse): void {
  const { status, headers, body, fault } = reply;
  const { socket } = outgoing;
  if (fault === "hang" || socket === null) return;
  if (fault === "reset") socket.resetAndDestroy();
  else if (fault === "destroy") socket.destroy();
  else if (fault !== undefined) writeHalf(reply, socket);
  else if (body === null) outgoing.writeHead(status, headers).end();
  else outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
}

/** Writes half of the response to the socket itself, because Node always completes a response. */
function writeHalf({ status, headers, body }: Reply, socket: Socket): void {
  const bytes = Buffer.from(body ?? "");
  const lines = [
    `HTTP/1.1 ${status} `,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Math.max(bytes.length, 2)}`,
    "connection: close",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  socket.end(bytes.subarray(0, bytes.length >> 1));
}

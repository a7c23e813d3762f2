/** Node adapter: the service on a port of this machine, with the interactive API reference. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import { writeLine } from "@loyalty-cards/internal/reporting";
import { checkTypes, type MockServiceOptions, sharedOptionNames } from "../backend/options.ts";
import { scaledClock } from "../domain/clock.ts";
import { createProblem } from "../domain/problem.ts";
import { type App, getReply } from "../http/app.ts";
import { problemReply, type Reply } from "../http/reply.ts";
import { createServiceWithApp, type MockService } from "../service.ts";
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
   * A JSON file with `templates`, `endpoints` and `defaultCountry`. Options take precedence over
   * its members; the `endpoints` of both exist, those of the options first, one for each address.
   */
  seedFile?: string | undefined;
  /**
   * A file that stores all data, as one JSON snapshot. An existing file takes precedence over
   * `seedFile`, and over `apiKeys`, `templates`, `defaultCountry` and `clock`. Its endpoints exist
   * beside those of `endpoints`, one for each address, and keep their events. It is written soon
   * after a change, and by `close()`. A process that is killed loses the changes of the last
   * moments: of 200 ms, or of eleven times as long as a write takes where that is longer.
   */
  dataFile?: string | undefined;
  /**
   * Called for each API request, with its warnings, which `log` then does not get, for each
   * delivery attempt, and when the clock is moved. An event contains no queries, keys or secrets,
   * and of bodies only the start of a receiver's failure. Default: not called.
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

const optionNames = {
  port: true,
  host: true,
  seedFile: true,
  dataFile: true,
  onTraffic: true,
  testing: true,
  ...sharedOptionNames,
} satisfies OptionNames<MockServerOptions>;

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
 * @param options those of `createMockService`, and `port` (default 0: any free port), `host`
 * (default `127.0.0.1`), and the files `seedFile` and `dataFile`.
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
 * const request = { fieldValues: { name: "Anna" }, customer };
 * await loyalty.issueCard(service.templateId, request, { userId: 42 });
 * await close();
 * ```
 */
export async function startMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  requireKnownNames("startMockServer", options, optionNames);
  checkTypes(options);
  const { port = 0, host = "127.0.0.1", onTraffic, dataFile, ...given } = omitUndefined(options);
  const { seedFile, testing, ...ownOptions } = given;
  const saved = dataFile === undefined ? undefined : await readDataFile(dataFile);
  const isSeeded = seedFile !== undefined && saved === undefined;
  const serviceOptions = isSeeded ? addSeed(ownOptions, seedFile) : ownOptions;
  // The service needs the port, so it is created after the server.
  let app: App | undefined;
  const server = createServer(
    createTimeouts(testing?.requestTimeoutMs),
    createListener((request) => (app === undefined ? isStarting : getReply(app, request))),
  );
  const url = await listen(server, port, host);
  try {
    const created = createServiceWithApp(
      {
        ...serviceOptions,
        defaultClock: scaledClock(),
        saved,
        baseUrl: url,
        logsWarnings: onTraffic === undefined, // the traffic has them
        // On other addresses every host name is allowed, because the names of this machine in its
        // network are unknown.
        acceptsAnyHost: !isLoopback(toHostname(host)),
      },
      addReference,
    );
    const { service, backend } = created;
    const { log: ownLog = console.error } = ownOptions;
    const log = (line: string) => writeLine(ownLog, line);
    if (onTraffic !== undefined) listenToTraffic(backend, onTraffic, log);
    const stopSaving =
      dataFile === undefined ? undefined : await startSaving(dataFile, backend, log);
    app = created.app;
    const close = async () => {
      backend.dispatcher.close();
      await stopListening(server);
      await stopSaving?.();
    };
    return { url, service, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await stopListening(server);
    throw error;
  }
}

/** An option that is undefined would replace a member of the seed file. */
const omitUndefined = (options: MockServerOptions): MockServerOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

const createTimeouts = (requestTimeoutMs = 30_000) => ({
  requestTimeout: requestTimeoutMs,
  headersTimeout: Math.min(requestTimeoutMs, 10_000),
  connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
});

const isStarting = problemReply(createProblem(503, "The mock service is starting."));

type Respond = (request: Request) => Reply | Promise<Reply>;

/**
 * The adapter of Hono is loaded with the first request: it needs the classes of fetch, which are a
 * sixth of the memory of a server that waits.
 */
function createListener(respond: Respond): RequestListener {
  let loading: Promise<RequestListener> | undefined;
  return async (incoming, outgoing) => {
    loading ??= loadListener(respond);
    const listen = await loading;
    listen(incoming, outgoing);
  };
}

async function loadListener(respond: Respond): Promise<RequestListener> {
  const { getRequestListener } = await import("@hono/node-server");
  const { RESPONSE_ALREADY_SENT } = await import("@hono/node-server/utils/response");
  // The adapter gets this instead of a response, which is sent already. It is not a `Response`:
  // where the program has replaced that class by the one of `@hono/node-server`, the adapter would
  // send it.
  const { headers } = RESPONSE_ALREADY_SENT;
  const alreadySent = { status: 200, headers, body: null } as Response;
  return getRequestListener(
    async (request, { incoming, outgoing }) => {
      const reply = await respond(request);
      sendReply(reply, incoming as IncomingMessage, outgoing as ServerResponse);
      return alreadySent;
    },
    // The Request and Response of Hono would replace the global ones of the user's tests.
    { hostname: "localhost", overrideGlobalObjects: false },
  );
}

/**
 * To respond and close while the client is still sending would reset the connection, so the rest of
 * the body is read first. The listeners are removed before: that of the web stream, which nobody
 * reads any more, would pause the request.
 */
function sendReply(reply: Reply, incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || reply.fault !== undefined) {
    writeReply(reply, outgoing);
    return;
  }
  incoming.removeAllListeners("data");
  incoming.resume();
  incoming.once("end", () => writeReply(reply, outgoing));
}

function writeReply(reply: Reply, outgoing: ServerResponse): void {
  const { socket } = outgoing;
  if (socket === null) return; // the client has closed the connection
  switch (reply.fault) {
    case undefined:
      writeWhole(reply, outgoing);
      break;
    case "truncate":
      writeHalf(reply, socket);
      break;
    case "reset":
      socket.resetAndDestroy();
      break;
    case "destroy":
      socket.destroy();
      break;
    case "hang":
      break;
  }
}

function writeWhole({ status, headers, body }: Reply, outgoing: ServerResponse): void {
  if (body === null) {
    outgoing.writeHead(status, headers).end();
    return;
  }
  const length = Buffer.byteLength(body);
  outgoing.writeHead(status, { ...headers, "content-length": length }).end(body);
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

/** @returns the address of the service. */
async function listen(server: Server, port: number, host: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    // The listener is not removed: a later error, while accepting a connection, must not end the
    // process.
    server.on("error", (error) => reject(describePortInUse(error)));
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return `http://${toReachableHost(host)}:${address.port}`;
}

const stopListening = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

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

/** Node adapter: the service on a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { scaledClock } from "../domain/clock.ts";
import { Problem } from "../domain/problem.ts";
import { hasNoResponse } from "../http/injected-fault.ts";
import { cancelBody, problemResponse } from "../http/response.ts";
import type { MockServiceOptions } from "../sandbox/options.ts";
import { createFirstClock, restoreSandboxes } from "../sandbox/saved-state.ts";
import { createMockService, getCore, type MockService, type ServiceCore } from "../service.ts";
import { type DataFile, type LockedDataFile, lockAndReadDataFile } from "./node-data-file.ts";
import { discardBody, fromNode, rejectUnparsed, writeResponse } from "./node-http.ts";
import { type Exchange, formatExchange, listenToDeliveries, toRequestExchange } from "./node-traffic.ts";
import { findReferenceResponse } from "./reference-node.ts";

export { createEnvironment, runCommand, watchParent } from "./node-exec.ts";
export { readSeed, type Seed } from "./node-seed.ts";
export type { DeliveryExchange, Exchange, RequestExchange } from "./node-traffic.ts";

/** The options of the service, and the address it listens on. */
export interface MockServerOptions extends Omit<MockServiceOptions, "baseUrl" | "allowedHosts"> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1: reachable from this machine only. */
  host?: string;
  /** How long a caller may take to send a request. Default 30 000. */
  requestTimeoutMs?: number;
  /** A file that stores all data. An existing file takes precedence over the seed. Each change is written before the response is sent. */
  data?: string;
  /**
   * Called with one line per API request and per delivery attempt, and for pages and the control API per request that
   * failed. The lines have no bodies, queries, keys or secrets. Default: not called.
   * @example
   * ```ts
   * import { startMockServer } from "@loyalty-cards/mock-server/node";
   *
   * await startMockServer({ onTraffic: console.error });
   * ```
   */
  onTraffic?: (line: string) => void;
  /** As `onTraffic`, with data instead of a line, for another format. Default: not called. */
  onExchange?: (exchange: Exchange) => void;
}

/** A service on a port. */
export interface MockServer {
  /** The service's base URL. */
  url: string;
  service: MockService;
  close(): Promise<void>;
}

/**
 * Starts the service on a port, on a clock that runs and can be moved.
 * @param options those of `createMockService`, and `port` (default 0: any free port), `host` (default `127.0.0.1`) and `data`, a file.
 * @throws the system's error when the port is taken.
 * @throws {Error} when the `data` file cannot be used, or another server has it; the message names which.
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
  const { data, ...others } = options;
  if (data === undefined) return listen(others, undefined);
  const taken = await lockAndReadDataFile(data);
  try {
    const server = await listen(others, taken);
    taken.announce(server.url);
    return { ...server, close: () => server.close().finally(taken.release) };
  } catch (error) {
    taken.release();
    throw error;
  }
}

type Report = (exchange: Exchange) => void;

async function listen(
  options: Omit<MockServerOptions, "data">,
  taken: LockedDataFile | undefined,
): Promise<MockServer> {
  const { port = 0, host = "127.0.0.1", requestTimeoutMs = 30_000, ...others } = options;
  const { onTraffic, onExchange, ...serviceOptions } = others;
  const report: Report | undefined =
    onTraffic === undefined && onExchange === undefined
      ? undefined
      : (exchange) => {
          onTraffic?.(formatExchange(exchange));
          onExchange?.(exchange);
        };
  const saved = taken?.saved;
  let core: ServiceCore | undefined;
  let kept: DataFile | undefined;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 10_000),
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
      requireHostHeader: false, // refused by fromNode, with problem details
    },
    (incoming, outgoing) => {
      if (core !== undefined) void respond(core, kept, report, incoming, outgoing);
    },
  );
  rejectUnparsed(server);
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject); // kept: an error when a connection is accepted must not end the process
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const url = `http://${toReachableHost(host)}:${address.port}`;
  let service: MockService;
  try {
    service = createMockService({
      clock: scaledClock(),
      ...serviceOptions,
      ...(saved && { ...saved.seed, clock: createFirstClock(saved) }),
      baseUrl: url,
      // A server that listens on another address does so on purpose; its host names are not known here.
      allowedHosts: isLoopback(toHostname(host)) ? "loopback" : "any",
    });
    core = getCore(service);
    if (report !== undefined) listenToDeliveries(core.sandboxes, report);
    if (saved !== undefined) restoreSandboxes(core.sandboxes, saved);
    kept = taken?.open(core);
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    url,
    service,
    close: async () => {
      for (const { dispatcher } of core?.sandboxes.list() ?? []) dispatcher.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      kept?.close();
    },
  };
}

/** The host in links: an address that means all interfaces cannot be used. */
function toReachableHost(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : toHostname(host);
}

const toHostname = (host: string) => (host.includes(":") ? `[${host}]` : host);

async function respond(
  core: ServiceCore,
  kept: DataFile | undefined,
  report: Report | undefined,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const startedMs = performance.now();
  try {
    const request = fromNode(incoming, outgoing, core.service.baseUrl);
    let response =
      request instanceof Problem
        ? problemResponse(request)
        : await (findReferenceResponse(request, core.service) ?? core.handle(request));
    try {
      kept?.flush();
    } catch (error) {
      response = problemResponse(
        new Problem(500, `The data file cannot be written: ${(error as Error).message}`),
      );
    }
    if (report !== undefined) {
      const { method = "GET" } = incoming;
      const path = request instanceof Problem ? undefined : request.url.pathname;
      const durationMs = performance.now() - startedMs;
      const exchange = toRequestExchange({ method, path, response, durationMs });
      if (exchange !== undefined) report(exchange);
    }
    const isBodyRead =
      incoming.complete || hasNoResponse(response.connectionFault) || (await discardBody(incoming));
    if (outgoing.destroyed) return cancelBody(response);
    if (!isBodyRead) outgoing.setHeader("connection", "close");
    await writeResponse(response, outgoing);
  } catch {
    if (outgoing.headersSent) outgoing.destroy();
    else await writeResponse(problemResponse(new Problem(500, "The mock service failed.")), outgoing);
  }
}

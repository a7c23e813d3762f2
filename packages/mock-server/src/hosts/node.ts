/** Puts the service behind a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { scaledClock } from "../domain/clock.ts";
import { isLoopback } from "../domain/loopback.ts";
import { Problem } from "../domain/problem.ts";
import { abandon, answerOf } from "../http/reply.ts";
import { isSilent } from "../http/response.ts";
import type { MockServiceOptions } from "../options.ts";
import { firstClockOf, revive } from "../saved.ts";
import { coreOf, createMockService, type MockService, type ServiceCore } from "../service.ts";
import { write } from "./node-answer.ts";
import { type DataFile, type TakenDataFile, takeDataFile } from "./node-data-file.ts";
import { discarded, fromNode, refuseUnparsed } from "./node-request.ts";
import { formatRequest, listenToDeliveries } from "./node-traffic.ts";
import { referenceAt } from "./reference-node.ts";

/** A service's options, and where it listens. */
export interface MockServerOptions extends Omit<MockServiceOptions, "baseUrl" | "allowedHosts"> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1: nobody but this machine. */
  host?: string;
  /** How long a caller may take to send a request. Default 30 000. */
  requestTimeoutMs?: number;
  /** A file to keep everything in; what is in it wins over the seed. Nothing is answered before it is written. */
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
 * await loyalty.issueCard(service.templateId, {
 *   fieldValues: { name: "Anna" },
 *   customer: { phone: "+48600100200", consents: { privacy: { version: "2026-01" } } },
 * });
 * await close();
 * ```
 */
export async function startMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  const { data, ...others } = options;
  if (data === undefined) return listen(others, undefined);
  const taken = await takeDataFile(data);
  try {
    const server = await listen(others, taken);
    taken.announce(server.url);
    return { ...server, close: () => server.close().finally(taken.release) };
  } catch (error) {
    taken.release();
    throw error;
  }
}

async function listen(
  options: Omit<MockServerOptions, "data">,
  taken: TakenDataFile | undefined,
): Promise<MockServer> {
  const { port = 0, host = "127.0.0.1", requestTimeoutMs = 30_000, onTraffic, ...serviceOptions } = options;
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
      if (core !== undefined) void serve(core, kept, onTraffic, incoming, outgoing);
    },
  );
  refuseUnparsed(server);
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject); // stays: a connection that cannot be accepted later is no reason to exit
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const url = `http://${reachable(host)}:${address.port}`;
  let service: MockService;
  try {
    service = createMockService({
      clock: scaledClock(),
      ...serviceOptions,
      ...(saved && { ...saved.seed, clock: firstClockOf(saved) }),
      baseUrl: url,
      // Who binds beyond this machine does so on purpose, and is called by names that nobody knows here.
      allowedHosts: isLoopback(hostnameOf(host)) ? "loopback" : "any",
    });
    core = coreOf(service);
    if (onTraffic !== undefined) listenToDeliveries(core.worlds, onTraffic);
    if (saved !== undefined) revive(core.worlds, saved);
    kept = taken?.keep(core);
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    url,
    service,
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      kept?.close();
    },
  };
}

/** An address to write into links: "all of them" is none. */
function reachable(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : hostnameOf(host);
}

const hostnameOf = (host: string) => (host.includes(":") ? `[${host}]` : host);

async function serve(
  core: ServiceCore,
  kept: DataFile | undefined,
  onTraffic: MockServerOptions["onTraffic"],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  incoming.on("error", () => {}); // a caller who goes away is no event here
  try {
    await respond(core, kept, onTraffic, incoming, outgoing);
  } catch {
    if (outgoing.headersSent) outgoing.destroy();
    else await write(answerOf(new Problem(500, "The mock service failed.")), outgoing);
  }
}

async function respond(
  core: ServiceCore,
  kept: DataFile | undefined,
  onTraffic: MockServerOptions["onTraffic"],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const startedMs = performance.now();
  const request = fromNode(incoming, outgoing, core.service.baseUrl);
  let answer =
    request instanceof Problem
      ? answerOf(request)
      : ((await referenceAt(request, core.service)) ?? (await core.answer(request)));
  try {
    kept?.flush();
  } catch (error) {
    answer = answerOf(new Problem(500, `The data file cannot be written: ${(error as Error).message}`));
  }
  if (onTraffic !== undefined) {
    const { method = "GET" } = incoming;
    const path = request instanceof Problem ? undefined : request.url.pathname;
    const line = formatRequest({ method, path, answer, durationMs: performance.now() - startedMs });
    if (line !== undefined) onTraffic(line);
  }
  const isRead = isSilent(answer.fault) || (await discarded(incoming));
  if (outgoing.destroyed) return abandon(answer);
  if (!isRead) answer.headers["connection"] = "close";
  await write(answer, outgoing);
}

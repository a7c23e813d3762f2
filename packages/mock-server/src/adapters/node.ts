/** Node adapter: the service on a port of this machine, with the interactive API reference. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { isLoopback } from "@loyalty-cards/internal/hostnames";
import { EndpointInput, TemplateInput } from "@loyalty-cards/openapi/control-validators";
import type { MockServiceOptions } from "../backend/options.ts";
import { scaledClock } from "../domain/clock.ts";
import { isObject, Problem, validateInput } from "../domain/problem.ts";
import {
  cancelBody,
  hasNoResponse,
  problemResponse,
  type ServiceRequest,
  type ServiceResponse,
} from "../http/messages.ts";
import { fileResponse, pageResponse, referencePage } from "../pages/html.ts";
import { createMockService, getCore, type MockService } from "../service.ts";
import { findDataFile, startSaving } from "./node-data-file.ts";
import { discardBody, fromNode, rejectUnparsed, writeResponse } from "./node-http.ts";
import { formatTraffic, listenToDeliveries, type TrafficEvent, toRequestTraffic } from "./node-traffic.ts";

export type { TrafficEvent } from "./node-traffic.ts";

/** The options of the service, and the address it listens on. */
export interface MockServerOptions extends Omit<MockServiceOptions, "baseUrl" | "allowedHosts" | "testing"> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1: reachable from this machine only. */
  host?: string;
  /**
   * A JSON file with `templates`, `endpoints`, `defaultCountry` and `storeRefusals`. Options take precedence over its members; the
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
   * Called for each API request and each delivery attempt, and for each failed request for a page. `line` is text for a log; `event` is
   * an object. They contain no queries, keys or secrets, and of bodies only the start of a receiver's failure. Default: not called.
   * @example
   * ```ts
   * import { startMockServer } from "@loyalty-cards/mock-server/node";
   *
   * await startMockServer({ onTraffic: (line) => console.error(line) });
   * ```
   */
  onTraffic?: (line: string, event: TrafficEvent) => void;
  /** Internal: set by tests only. */
  testing?: MockServiceOptions["testing"] & {
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
  const { port = 0, host = "127.0.0.1", seedFile, dataFile, onTraffic, ...given } = options;
  const { requestTimeoutMs = 30_000 } = options.testing ?? {};
  const serviceOptions = seedFile === undefined ? given : addSeed(given, readSeed(seedFile));
  const found = dataFile === undefined ? undefined : await findDataFile(dataFile);
  const report: Report | undefined = onTraffic && ((event) => onTraffic(formatTraffic(event), event));
  let service: MockService | undefined;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 10_000),
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
      requireHostHeader: false, // rejected by fromNode, with problem details
    },
    (incoming, outgoing) => {
      if (service !== undefined) void respond(service, report, incoming, outgoing);
    },
  );
  rejectUnparsed(server);
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
    service = createMockService({
      clock: scaledClock(),
      ...serviceOptions,
      ...found?.saved?.options,
      baseUrl: url,
      // On other addresses every host name is allowed, because the names of this machine in its network are unknown.
      allowedHosts: isLoopback(toHostname(host)) ? "loopback" : "any",
    });
    const { backend } = getCore(service);
    if (report !== undefined) listenToDeliveries(backend, report);
    if (found?.saved !== undefined) {
      backend.ids.continueAfter(found.saved.newestId);
      backend.restore(found.saved.state);
    }
    const stopSaving = found && (await startSaving(found, backend));
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

const addSeed = <Options extends MockServiceOptions>(options: Options, seed: Seed): Options => ({
  ...seed,
  ...options,
  endpoints: [...(options.endpoints ?? []), ...(seed.endpoints ?? [])],
});

type Report = (event: TrafficEvent) => void;

/** @returns other errors unchanged. */
function describePortInUse(error: NodeJS.ErrnoException & { port?: number }): Error {
  const { code, port } = error;
  if (code !== "EADDRINUSE") return error;
  const message = `Port ${port} is already in use, perhaps by another mock server. Stop that program, or select another port with --port; --port 0 selects a free one.`;
  return Object.assign(new Error(message, { cause: error }), { code });
}

/** The host in links. `0.0.0.0` and `::` mean all interfaces, so links use loopback instead. */
function toReachableHost(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : toHostname(host);
}

const toHostname = (host: string) => (host.includes(":") ? `[${host}]` : host);

async function respond(
  service: MockService,
  report: Report | undefined,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const startedMs = performance.now();
  try {
    const request = fromNode(incoming, outgoing, service.baseUrl);
    const response =
      request instanceof Problem
        ? problemResponse(request)
        : await (findReferenceResponse(request, service) ?? getCore(service).handle(request));
    if (report !== undefined) {
      const { method = "GET" } = incoming;
      const path = request instanceof Problem ? undefined : request.url.pathname;
      const durationMs = performance.now() - startedMs;
      const event = toRequestTraffic(method, path, response, durationMs);
      if (event !== undefined) report(event);
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

type Seed = Pick<MockServiceOptions, "defaultCountry" | "templates" | "endpoints" | "storeRefusals">;

const seedMembers = ["defaultCountry", "templates", "endpoints", "storeRefusals"];

/**
 * Reads a seed file. The service validates the rest, such as addresses.
 * @throws {Error} when the file cannot be read or has another structure; the message names the file and the mistake.
 */
function readSeed(file: string): Seed {
  try {
    return validateSeed(JSON.parse(new TextDecoder().decode(readFileSync(file)))); // without a byte order mark
  } catch (error) {
    throw new Error(`--seed ${file} cannot be used: ${(error as Error).message}`);
  }
}

function validateSeed(seed: unknown): Seed {
  if (!isObject(seed)) throw new TypeError("it is not an object.");
  const unknown = Object.keys(seed).filter((name) => !seedMembers.includes(name));
  if (unknown.length > 0) throw new TypeError(`"${unknown[0]}" is unknown; use ${seedMembers.join(", ")}.`);
  validateEntries("templates", seed["templates"], (template) => validateInput(TemplateInput, template));
  validateEntries("endpoints", seed["endpoints"], ({ secret: _secret, ...endpoint }) =>
    validateInput(EndpointInput, endpoint),
  );
  return seed as Seed;
}

function validateEntries(
  name: string,
  list: unknown,
  validate: (entry: Record<string, unknown>) => void,
): void {
  if (list === undefined) return;
  if (!Array.isArray(list) || !list.every(isObject))
    throw new TypeError(`"${name}" is not a list of objects.`);
  for (const [index, entry] of list.entries()) {
    try {
      validate(entry);
    } catch (error) {
      throw new TypeError(`${name}[${index}]: ${(error as Error).message}`);
    }
  }
}

/** The names that can be requested. Requests never name a path on the disk. */
const vendored = ["swagger-ui-bundle.js", "swagger-ui.css"];
const own = ["start.js", "reference.css"];

/** Undefined for every other path. */
function findReferenceResponse(
  request: ServiceRequest,
  service: MockService,
): ServiceResponse | Promise<ServiceResponse> | undefined {
  const { pathname } = request.url;
  if (request.method !== "GET" || !pathname.startsWith("/api/docs")) return undefined;
  if (pathname === "/api/docs") {
    const { apiKeys, templateId } = service;
    return pageResponse(referencePage({ apiKey: apiKeys.website, templateId }));
  }
  const name = pathname.slice("/api/docs/".length);
  if (own.includes(name)) return ownResponse(name);
  if (vendored.includes(name)) return vendoredResponse(name, request);
  return undefined;
}

async function ownResponse(name: string): Promise<ServiceResponse> {
  const { staticFiles } = await import("../pages/node-static-files.ts"); // on the first request
  return fileResponse(name, staticFiles.get(`reference/${name}`) ?? "");
}

/** Compressed in the build; in the sources, from the npm package of Swagger UI. */
async function vendoredResponse(name: string, { headers }: ServiceRequest): Promise<ServiceResponse> {
  const here = dirname(fileURLToPath(import.meta.url));
  if (here.endsWith(join("src", "adapters"))) {
    const origin = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return fileResponse(name, await readFile(join(origin, name)));
  }
  const compressed = await readFile(join(here, "reference", `${name}.gz`));
  if (!/\bgzip\b/.test(headers.get("accept-encoding") ?? ""))
    return fileResponse(name, gunzipSync(compressed));
  const response = fileResponse(name, compressed);
  return { ...response, headers: { ...response.headers, "content-encoding": "gzip" } };
}

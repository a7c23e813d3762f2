/** Puts the service behind a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { MockServiceOptions } from "../options.ts";
import { createMockService, type MockService } from "../service.ts";
import { referenceAt } from "./reference-node.ts";

export interface MockServerOptions extends Omit<MockServiceOptions, "baseUrl"> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1: nobody but this machine. */
  host?: string;
}

export interface MockServer {
  /** The service's base URL. */
  url: string;
  service: MockService;
  close(): Promise<void>;
}

/** Starts the service. @throws the system's error when the port is taken. */
export async function startMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  const { port = 0, host = "127.0.0.1", ...serviceOptions } = options;
  let service: MockService | undefined;
  const server = createServer((request, response) => {
    if (service !== undefined) void answer(service, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const url = `http://${reachable(host)}:${address.port}`;
  try {
    service = createMockService({ ...serviceOptions, baseUrl: url });
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    url,
    service,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An address to write into links: "all of them" is none. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

async function answer(
  service: MockService,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = requestOf(service.baseUrl, incoming);
  const response = request === undefined ? unreadable() : await answerOf(service, request);
  const headers = Object.fromEntries(response.headers);
  // What was not read stands between this answer and the next request on the connection.
  if (!incoming.complete) headers["connection"] = "close";
  outgoing.writeHead(response.status, headers);
  outgoing.end(new Uint8Array(await response.arrayBuffer()));
}

async function answerOf(service: MockService, request: Request): Promise<Response> {
  const page =
    request.method === "GET" && (await referenceAt(new URL(request.url).pathname, service.apiKeys.website));
  return page || service.fetch(request);
}

function unreadable(): Response {
  const problem = {
    type: "about:blank",
    title: "Bad Request",
    status: 400,
    detail: "The method or the address cannot be read.",
  };
  return new Response(JSON.stringify(problem), {
    status: 400,
    headers: { "content-type": "application/problem+json" },
  });
}

/** Undefined for what no Request can be made of: methods and addresses that fetch refuses. */
function requestOf(baseUrl: string, incoming: IncomingMessage): Request | undefined {
  const { url = "/", method = "GET" } = incoming;
  const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  try {
    return new Request(new URL(url, baseUrl), {
      method,
      headers,
      ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" }),
    });
  } catch {
    return undefined;
  }
}

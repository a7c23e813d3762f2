/** Puts the service behind a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { MockServiceOptions } from "../options.ts";
import { createMockService, type MockService } from "../service.ts";

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
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
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

async function answer(
  service: MockService,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const request = requestOf(service.baseUrl, incoming);
  const response = request === undefined ? new Response(null, { status: 400 }) : await service.fetch(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(new Uint8Array(await response.arrayBuffer()));
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

/** Puts the service behind a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { scaledClock } from "../domain/clock.ts";
import { isLoopback } from "../domain/loopback.ts";
import { Problem } from "../domain/problem.ts";
import { answerOf } from "../http/reply.ts";
import type { MockServiceOptions } from "../options.ts";
import { coreOf, createMockService, type MockService, type ServiceCore } from "../service.ts";
import { write } from "./node-answer.ts";
import { discarded, fromNode } from "./node-request.ts";
import { referenceAt } from "./reference-node.ts";

export interface MockServerOptions extends Omit<MockServiceOptions, "baseUrl" | "allowedHosts"> {
  /** Default 0: any free port. */
  port?: number;
  /** Default 127.0.0.1: nobody but this machine. */
  host?: string;
  /** How long a caller may take to send a request. Default 30 000. */
  requestTimeoutMs?: number;
}

export interface MockServer {
  /** The service's base URL. */
  url: string;
  service: MockService;
  close(): Promise<void>;
}

/** Starts the service, on a clock that runs and can be moved. @throws the system's error when the port is taken. */
export async function startMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  const { port = 0, host = "127.0.0.1", requestTimeoutMs = 30_000, ...serviceOptions } = options;
  let core: ServiceCore | undefined;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 10_000),
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
    },
    (incoming, outgoing) => {
      if (core !== undefined) void serve(core, incoming, outgoing);
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const url = `http://${reachable(host)}:${address.port}`;
  let service: MockService;
  try {
    service = createMockService({
      clock: scaledClock(),
      ...serviceOptions,
      baseUrl: url,
      // Who binds beyond this machine does so on purpose, and is called by names that nobody knows here.
      allowedHosts: isLoopback(hostnameOf(host)) ? "loopback" : "any",
    });
    core = coreOf(service);
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
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : hostnameOf(host);
}

const hostnameOf = (host: string) => (host.includes(":") ? `[${host}]` : host);

async function serve(core: ServiceCore, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  incoming.on("error", () => {}); // a caller who goes away is no event here
  const request = fromNode(incoming, core.service.baseUrl, gone.signal);
  const answer =
    request === undefined
      ? answerOf(new Problem(400, "The method or the address cannot be read."))
      : ((await referenceAt(request, core.service)) ?? (await core.answer(request)));
  if (outgoing.destroyed) return;
  if (answer.fault === undefined && !(await discarded(incoming))) answer.headers["connection"] = "close";
  await write(answer, outgoing);
}

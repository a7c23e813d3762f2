/** Puts the service behind a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { scaledClock } from "../domain/clock.ts";
import { isLoopback } from "../domain/loopback.ts";
import { Problem } from "../domain/problem.ts";
import { abandon, answerOf } from "../http/reply.ts";
import { isSilent } from "../http/response.ts";
import type { MockServiceOptions } from "../options.ts";
import { clockOf, revive, savedOf } from "../saved.ts";
import { coreOf, createMockService, type MockService, type ServiceCore } from "../service.ts";
import { write } from "./node-answer.ts";
import { type DataFile, dataFile, readDataFile } from "./node-data-file.ts";
import { discarded, fromNode } from "./node-request.ts";
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
}

/** A service on a port. */
export interface MockServer {
  /** The service's base URL. */
  url: string;
  service: MockService;
  close(): Promise<void>;
}

/** Starts the service, on a clock that runs and can be moved. @throws the system's error when the port is taken. */
export async function startMockServer(options: MockServerOptions = {}): Promise<MockServer> {
  const { port = 0, host = "127.0.0.1", requestTimeoutMs = 30_000, data, ...serviceOptions } = options;
  const saved = data === undefined ? undefined : readDataFile(data);
  let core: ServiceCore | undefined;
  let kept: DataFile | undefined;
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 10_000),
      connectionsCheckingInterval: Math.min(requestTimeoutMs, 5_000),
    },
    (incoming, outgoing) => {
      if (core !== undefined) void serve(core, kept, incoming, outgoing);
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
      ...(saved && { ...saved.seed, clock: clockOf(saved.worlds[0]) }),
      baseUrl: url,
      // Who binds beyond this machine does so on purpose, and is called by names that nobody knows here.
      allowedHosts: isLoopback(hostnameOf(host)) ? "loopback" : "any",
    });
    core = coreOf(service);
    if (saved !== undefined) revive(core.worlds, saved);
    if (data !== undefined) kept = await keepIn(data, core);
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
      await kept?.written();
    },
  };
}

/** Writes it at once, so that a folder that cannot be written is found at the start. */
async function keepIn(file: string, { worlds, settings }: ServiceCore): Promise<DataFile> {
  const kept = dataFile(file, () => savedOf(worlds, settings));
  worlds.listen(kept.touch);
  kept.touch();
  await kept.written();
  return kept;
}

/** An address to write into links: "all of them" is none. */
function reachable(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : hostnameOf(host);
}

const hostnameOf = (host: string) => (host.includes(":") ? `[${host}]` : host);

async function serve(
  core: ServiceCore,
  kept: DataFile | undefined,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  incoming.on("error", () => {}); // a caller who goes away is no event here
  const request = fromNode(incoming, outgoing, core.service.baseUrl);
  let answer =
    request === undefined
      ? answerOf(new Problem(400, "The method or the address cannot be read."))
      : ((await referenceAt(request, core.service)) ?? (await core.answer(request)));
  try {
    await kept?.written();
  } catch (error) {
    answer = answerOf(new Problem(500, `The data file cannot be written: ${(error as Error).message}`));
  }
  const isRead = isSilent(answer.fault) || (await discarded(incoming));
  if (outgoing.destroyed) return abandon(answer);
  if (!isRead) answer.headers["connection"] = "close";
  await write(answer, outgoing);
}

/** Servers of tests on real sockets, and clients for them. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { onTestFinished } from "vitest";
import { createIssuingClient, type IssuingClientOptions } from "../src/index.ts";

/** A certificate and its key. */
export const pem = readFileSync(new URL("../../../testing/localhost.pem", import.meta.url));

/** How each transport is selected; node:http is the default. */
export const transports: [name: string, Partial<IssuingClientOptions>][] = [
  ["node:http", {}],
  ["fetch", { fetch }],
];

/** Listens on a free port. The server and its connections are closed at the end of the test. */
export async function listen(server: Server, host = "127.0.0.1"): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    socket.on("error", () => {});
    sockets.add(socket);
  });
  server.listen(0, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** A client whose pauses have no length. */
export const createClient = (baseUrl: string, options: Partial<IssuingClientOptions> = {}) =>
  createIssuingClient({ baseUrl, apiKey: "k", testing: { random: () => 0 }, ...options });

export async function openHttp(respond: RequestListener, options?: Partial<IssuingClientOptions>) {
  const server = createServer(respond);
  const baseUrl = `http://127.0.0.1:${await listen(server)}`;
  return { server, baseUrl, client: createClient(baseUrl, options) };
}

/**
 * A server that calls `write` when a request arrives.
 * @returns the connections that had a request.
 */
export async function openRaw(
  write: (socket: Socket) => void,
  options?: Partial<IssuingClientOptions>,
) {
  const requested: Socket[] = [];
  const server = createTcpServer((socket) => {
    socket.on("data", () => {
      requested.push(socket);
      write(socket);
    });
  });
  return { requested, client: createClient(`http://127.0.0.1:${await listen(server)}`, options) };
}

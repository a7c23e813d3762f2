/** Makes a request for the routes out of Node's, and reads to its end what nobody read. */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { Problem } from "../domain/problem.ts";
import { answerOf } from "../http/reply.ts";
import type { HttpRequest } from "../http/request.ts";

const lingerAtMostMs = 1_000;
const unreadable = new Problem(400, "The method or the address cannot be read.");

/** Refuses what never becomes a request, with problem details: what the parser rejects, late requests, and CONNECT. */
export function refuseUnparsed(server: Server): void {
  /** The newest response of each connection. */
  const responses = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();
  server.on("request", (incoming, outgoing) => void responses.set(incoming.socket, outgoing));
  server.on("checkExpectation", (incoming, outgoing) => void server.emit("request", incoming, outgoing));
  server.on("connect", (_incoming, socket) => {
    socket.on("error", () => {}); // the server's own listener is gone
    refuse(socket, unreadable);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (refused.has(socket)) return; // the parser looks at the bytes after the error too
    refused.add(socket);
    const response = responses.get(socket);
    const isWithinResponse = response?.headersSent && !response.writableFinished;
    if (isWithinResponse || !socket.writable) socket.destroy();
    else refuse(socket, problemOf(error.code));
  });
}

function problemOf(code: string | undefined): Problem {
  if (code === "HPE_HEADER_OVERFLOW") return new Problem(431, "The headers are too large.");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return new Problem(413, "The chunk extensions are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Problem(408, "The request did not come in time.");
  return new Problem(400, "The request is not HTTP/1.1 that can be read.");
}

/** By hand, because there is no request to respond to. What is still coming is read: a reset would lose the response. */
function refuse(socket: Duplex, problem: Problem): void {
  const { status, headers, content } = answerOf(problem);
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(content as string)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${content}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerAtMostMs);
  socket.on("close", () => clearTimeout(timer));
}

/** A problem for an address that cannot be read, for TRACE, which no server should answer, and without one Host. */
export function fromNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
): HttpRequest | Problem {
  const { url = "/", method = "GET", headers, headersDistinct, httpVersion } = incoming;
  const address = addressOf(url.startsWith("/") ? origin + url : url);
  if (address === undefined || method === "TRACE") return unreadable;
  const hosts = headersDistinct["host"]?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && httpVersion !== "1.0")) {
    return new Problem(400, `The request has ${hosts} Host headers; send one.`); // RFC 9112, 3.2
  }
  let gone: AbortController | undefined;
  return {
    method,
    url: address,
    headers: {
      get(name) {
        const value = headers[name];
        return value === undefined ? null : String(value);
      },
    },
    bytes: (atMost) => bytesOf(incoming, atMost),
    get signal() {
      if (gone === undefined) {
        const controller = new AbortController();
        outgoing.once("close", () => controller.abort());
        gone = controller;
      }
      return gone.signal;
    },
  };
}

function addressOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

async function bytesOf(incoming: IncomingMessage, atMost: number): Promise<Uint8Array | undefined> {
  await undefined; // what came in one packet with the head is here then, and needs no listeners, which cost more than it
  const announced = Number(incoming.headers["content-length"] ?? Number.NaN);
  if (announced > 0 && announced <= atMost && incoming.readableLength === announced) return incoming.read();
  return flowing(incoming, atMost);
}

function flowing(incoming: IncomingMessage, atMost: number): Promise<Uint8Array | undefined> {
  if (incoming.destroyed) return Promise.reject(new Error("The caller went away."));
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let length = 0;
    const take = (part: Uint8Array) => {
      parts.push(part);
      length += part.byteLength;
      if (length <= atMost) return;
      incoming.off("data", take);
      resolve(undefined);
    };
    incoming.on("data", take);
    incoming.on("end", () => resolve(parts.length === 1 ? parts[0] : Buffer.concat(parts, length)));
    incoming.on("close", () => reject(new Error("The caller went away."))); // after the end that is no news
  });
}

/** Enough for any client that sends its whole body before it reads the answer. */
const discardAtMostBytes = 256 * 1024 * 1024;
const discardAtMostMs = 10_000;

/**
 * Reads and forgets the rest of a body. To answer and close while the caller is still sending would reset the
 * connection, and the caller would never see the answer.
 * @returns whether all of it is read, so that the connection can go on.
 */
export function discarded(incoming: IncomingMessage): Promise<boolean> {
  if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
  return new Promise((resolve) => {
    let length = 0;
    const timer = setTimeout(() => end(false), discardAtMostMs);
    const end = (isComplete: boolean) => {
      clearTimeout(timer);
      incoming.off("data", count).off("end", complete).off("close", cut);
      resolve(isComplete);
    };
    const complete = () => end(true);
    const cut = () => end(false);
    const count = (part: Uint8Array) => {
      length += part.byteLength;
      if (length > discardAtMostBytes) end(false);
    };
    incoming.on("data", count).once("end", complete).once("close", cut).resume();
  });
}

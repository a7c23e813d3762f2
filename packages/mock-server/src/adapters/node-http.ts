/** Converts between Node's HTTP messages and the service's requests and responses. */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Problem } from "../domain/problem.ts";
import { problemResponse, type ServiceRequest, type ServiceResponse } from "../http/messages.ts";

const maxLingerMs = 1_000;
const unreadable = new Problem(400, "The method or the address cannot be read.");

/** Responds with problem details where Node creates no request: parser errors, requests that time out, and CONNECT. */
export function rejectUnparsed(server: Server): void {
  /** The newest response of each connection. */
  const responses = new WeakMap<Duplex, ServerResponse>();
  const rejected = new WeakSet<Duplex>();
  server.on("request", (incoming, outgoing) => void responses.set(incoming.socket, outgoing));
  server.on("checkExpectation", (incoming, outgoing) => void server.emit("request", incoming, outgoing));
  server.on("connect", (_incoming, socket) => {
    socket.on("error", () => {}); // Node removed its own listener
    reject(socket, unreadable);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (rejected.has(socket)) return; // the parser also reports the bytes after the first error
    rejected.add(socket);
    const response = responses.get(socket);
    const isWithinResponse = response?.headersSent && !response.writableFinished;
    if (isWithinResponse || !socket.writable) socket.destroy();
    else reject(socket, toProblem(error.code));
  });
}

function toProblem(code: string | undefined): Problem {
  if (code === "HPE_HEADER_OVERFLOW") return new Problem(431, "The headers are too large.");
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW")
    return new Problem(413, "The chunk extensions are too large.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Problem(408, "The request did not arrive in time.");
  return new Problem(400, "The request is not valid HTTP/1.1.");
}

/** Writes the response to the socket, then reads the rest of the request: a reset would discard the response. */
function reject(socket: Duplex, problem: Problem): void {
  const { status, headers, body } = problemResponse(problem);
  const lines = Object.entries({
    ...headers,
    "content-length": String(Buffer.byteLength(body as string)),
    connection: "close",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), maxLingerMs);
  socket.on("close", () => clearTimeout(timer));
}

/** @returns a problem for an invalid address, for TRACE, and unless there is exactly one Host header. */
export function fromNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
): ServiceRequest | Problem {
  const { url = "/", method = "GET", rawHeaders, httpVersion } = incoming;
  const address = parseUrl(url.startsWith("/") ? origin + url : url);
  if (address === undefined || method === "TRACE") return unreadable;
  const isHost = (text: string, index: number) => index % 2 === 0 && text.toLowerCase() === "host";
  const hostCount = rawHeaders.filter(isHost).length; // `headers` has the first one only
  if (hostCount > 1 || (hostCount === 0 && httpVersion !== "1.0")) {
    return new Problem(400, `The request has ${hostCount} Host headers; send one.`); // RFC 9112, 3.2
  }
  return new NodeRequest(method, address, incoming, outgoing);
}

/** A class: V8 would create a hidden class for each object literal with a getter, and keep it until the next full garbage collection. */
class NodeRequest implements ServiceRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: ServiceRequest["headers"];
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  #disconnect: AbortController | undefined;

  constructor(method: string, url: URL, incoming: IncomingMessage, outgoing: ServerResponse) {
    this.method = method;
    this.url = url;
    this.headers = {
      get(name) {
        const value = incoming.headers[name];
        return value === undefined ? null : String(value);
      },
    };
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  bytes(maxBytes: number): Promise<Uint8Array | undefined> {
    return readBody(this.#incoming, maxBytes);
  }

  get signal(): AbortSignal {
    if (this.#disconnect === undefined) {
      const controller = new AbortController();
      this.#outgoing.once("close", () => controller.abort());
      this.#disconnect = controller;
    }
    return this.#disconnect.signal;
  }
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  if (incoming.destroyed) return Promise.reject(new Error("The client disconnected."));
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const add = (chunk: Uint8Array) => {
      chunks.push(chunk);
      length += chunk.byteLength;
      if (length <= maxBytes) return;
      incoming.off("data", add);
      resolve(undefined);
    };
    incoming.on("data", add);
    incoming.on("end", () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length)));
    incoming.on("error", reject); // the client disconnected
  });
}

/** Enough for a client that sends its whole body before it reads the response. */
const maxDiscardedBytes = 256 * 1024 * 1024;
const maxDiscardMs = 10_000;

/**
 * Reads the rest of a body and ignores it. To respond and close while the client is still sending would reset the
 * connection, and the client would not receive the response.
 * @returns whether all of it was read, so that the connection can be used again.
 */
export async function discardBody(incoming: IncomingMessage): Promise<boolean> {
  if (incoming.destroyed) return false;
  return new Promise((resolve) => {
    let length = 0;
    const timer = setTimeout(() => end(false), maxDiscardMs);
    const end = (isComplete: boolean) => {
      clearTimeout(timer);
      incoming.off("data", count).off("end", complete).off("close", disconnected);
      resolve(isComplete);
    };
    const complete = () => end(true);
    const disconnected = () => end(false);
    const count = (chunk: Uint8Array) => {
      length += chunk.byteLength;
      if (length > maxDiscardedBytes) end(false);
    };
    incoming.on("data", count).once("end", complete).once("close", disconnected).resume();
  });
}

/** Sends a response, or breaks the connection as its injected fault says. */
export async function writeResponse(response: ServiceResponse, outgoing: ServerResponse): Promise<void> {
  const { status, headers, body, connectionFault } = response;
  const { socket } = outgoing;
  if (connectionFault === "hang") return;
  if (connectionFault !== undefined && socket !== null) {
    if (connectionFault === "reset") socket.resetAndDestroy();
    else if (connectionFault === "destroy") socket.destroy();
    else writeHalf(response, connectionFault, socket);
    return;
  }
  if (body instanceof ReadableStream) {
    outgoing.writeHead(status, headers);
    outgoing.flushHeaders();
    await pipeline(Readable.fromWeb(body as never), outgoing).catch(() => {}); // the reader disconnected
    return;
  }
  outgoing.writeHead(
    status,
    body === null ? headers : { "content-length": Buffer.byteLength(body), ...headers },
  );
  outgoing.end(body ?? undefined);
}

/** Writes half of the response to the socket itself, because Node always completes a response. */
function writeHalf(
  { status, headers, body }: ServiceResponse,
  fault: "truncate" | "malformed",
  socket: Socket,
): void {
  const bytes = Buffer.from(typeof body === "string" ? body : body instanceof Uint8Array ? body : "");
  const half = bytes.subarray(0, bytes.length >> 1);
  const framing =
    fault === "truncate" ? `content-length: ${Math.max(bytes.length, 2)}` : "transfer-encoding: chunked";
  const lines = [
    `HTTP/1.1 ${status} `,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${[...lines, framing, "connection: close"].join("\r\n")}\r\n\r\n`);
  if (fault === "truncate") socket.write(half);
  else socket.write(`${half.length.toString(16)}\r\n${half.toString("latin1")}\r\nnot a chunk\r\n`, "latin1");
  socket.end();
}

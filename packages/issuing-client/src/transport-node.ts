/** Sends requests over node:http and node:https, with Node's connections that stay open: the default on Node.js. */
import type * as Http from "node:http";
import type * as Zlib from "node:zlib";
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import {
  ConnectionError,
  decodeUtf8,
  type HttpResponse,
  maxBodyBytes,
  type Transport,
  toHeaders,
  tooLongError,
  UnreadableBodyError,
} from "./transport.ts";

/**
 * Creates the transport. It takes less than half of the processor time of fetch. Idle connections of Node's global agent do not keep
 * the process running; with `NODE_USE_ENV_PROXY=1` the agent uses the proxy of the environment.
 * @returns undefined in a runtime without node:http.
 */
export function createNodeTransport(): Transport | undefined {
  const http = getBuiltinModule("node:http") as typeof Http | undefined;
  const https = getBuiltinModule("node:https") as typeof Http | undefined; // the same functions
  if (http === undefined || https === undefined) return undefined;

  return ({ method, url, headers, body }) => {
    const { protocol, hostname, port, pathname, search } = new URL(url);
    // `request` is looked up at each call, because MSW, nock and OpenTelemetry replace it.
    const request = (protocol === "https:" ? https : http).request({
      protocol,
      hostname: hostname.replace(/^\[|\]$/g, ""), // an IPv6 address without its brackets
      port,
      path: pathname + search,
      method,
      headers: { ...headers, "accept-encoding": "identity" },
      joinDuplicateHeaders: true, // as fetch does, instead of dropping all but the first
    });
    const response = new Promise<HttpResponse>((resolve, reject) => {
      request.on("error", (error) => reject(new ConnectionError(error)));
      request.on("response", (message) => resolve(toHttpResponse(message)));
      request.on("upgrade", (message, socket) => {
        socket.destroy();
        resolve(toHttpResponse(message)); // 101, which the client rejects
      });
    });
    request.end(body);
    return { response, abort: () => request.destroy() };
  };
}

function toHttpResponse(message: Http.IncomingMessage): HttpResponse {
  const header = (name: string) => {
    const value = message.headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  return {
    status: message.statusCode ?? 0,
    header,
    headers: () => toHeaders(Object.keys(message.headers).map((name) => [name, header(name) ?? ""])),
    text: async () => decodeBody(await readBody(message), header("content-encoding")),
    discard: () => message.destroy(),
  };
}

/** Reads the body by events, because an async iterator adds a tenth to the time of a call. */
function readBody(message: Http.IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    message.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= maxBodyBytes) return;
      reject(tooLongError());
      message.destroy();
    });
    message.on("end", () => resolve(Buffer.concat(chunks)));
    message.on("error", (error) => reject(new ConnectionError(error)));
    // A connection that failed in the same turn as the head arrived emits no further event.
    if (message.destroyed) reject(new ConnectionError({ code: "ECONNRESET" }));
  });
}

const decoders: ReadonlyMap<string, "gunzip" | "inflate" | "brotliDecompress"> = new Map([
  ["gzip", "gunzip"],
  ["x-gzip", "gunzip"],
  ["deflate", "inflate"],
  ["br", "brotliDecompress"],
]);

/** The requests ask for unencoded bodies; a proxy can encode them nevertheless. */
async function decodeBody(bytes: Buffer, header: string | null): Promise<string> {
  const encoding = header?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return decodeUtf8(bytes);
  const zlib = getBuiltinModule("node:zlib") as typeof Zlib;
  const decoder = decoders.get(encoding);
  if (decoder === undefined) throw new UnreadableBodyError("a body in an unknown encoding", true);
  const decode: typeof Zlib.inflate = zlib[decoder];
  return new Promise((resolve, reject) => {
    decode(bytes, { maxOutputLength: maxBodyBytes }, (error, decoded) => {
      if (error === null) resolve(decodeUtf8(decoded));
      else if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") reject(tooLongError());
      else reject(new UnreadableBodyError(`a body that is not valid ${encoding}`, true));
    });
  });
}

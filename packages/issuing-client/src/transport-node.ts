/** Sends requests over node:http and node:https, with Node's connections that stay open: the default on Node.js. */
import type * as Http from "node:http";
import type * as Zlib from "node:zlib";
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import {
  type ConnectionFailure,
  type HttpResponse,
  maxBodyBytes,
  type Transport,
  toHeaders,
  tooLong,
} from "./transport.ts";

/**
 * Creates the transport. It takes less than half of the processor time of fetch. Idle connections of Node's global agent do not keep
 * the process running; with `NODE_USE_ENV_PROXY=1` the agent uses the proxy of the environment.
 * @returns undefined in a runtime without node:http.
 */
export function createNodeTransport(baseUrl: string): Transport | undefined {
  const http = getBuiltinModule("node:http") as typeof Http | undefined;
  const https = getBuiltinModule("node:https") as typeof Http | undefined; // the same functions
  if (http === undefined || https === undefined) return undefined;

  const { protocol, hostname, port, pathname } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, ""); // an IPv6 address without its brackets
  const basePath = pathname === "/" ? "" : pathname;

  return ({ method, path, headers, body }) => {
    // `request` is looked up at each call, because MSW, nock and OpenTelemetry replace it.
    const request = (protocol === "https:" ? https : http).request({
      host,
      port,
      path: basePath + path,
      method,
      headers,
      joinDuplicateHeaders: true, // as fetch does, instead of dropping all but the first
    });
    const response = new Promise<HttpResponse | ConnectionFailure>((resolve) => {
      let hasHead = false; // after the head, the message reports what happens to the connection
      request.on("response", (message) => {
        hasHead = true;
        readMessage(message, resolve);
      });
      request.on("upgrade", (message, socket) => {
        readMessage(message, resolve); // 101, which the client rejects
        socket.destroy();
      });
      request.on("error", (connectionError) => {
        if (!hasHead) resolve({ connectionError });
      });
    });
    request.end(body);
    return { response, abort: () => request.destroy() };
  };
}

/** Reads the body by events, because an async iterator adds a tenth to the time of a call. */
function readMessage(message: Http.IncomingMessage, resolve: (response: HttpResponse) => void): void {
  const { statusCode: status = 0 } = message;
  const header = (name: string) => {
    const value = message.headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  const headers = () => toHeaders(Object.keys(message.headers).map((name) => [name, header(name) ?? ""]));
  const end = (text: string, bodyFailure?: HttpResponse["bodyFailure"]) =>
    resolve({ status, header, headers, text, bodyFailure });
  if (status < 200 || (status >= 300 && status < 400)) {
    end("");
    message.destroy();
    return;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  message.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length <= maxBodyBytes) return;
    end("", tooLong);
    message.destroy();
  });
  message.on("end", () => {
    const bytes = Buffer.concat(chunks);
    const encoding = header("content-encoding")?.trim().toLowerCase() ?? "identity";
    if (encoding === "identity" || encoding === "" || bytes.length === 0) end(bytes.toString());
    else decode(bytes, encoding, end);
  });
  message.on("error", (connectionError) => end("", { connectionError }));
  // A connection that failed in the same turn as the head arrived emits no further event.
  if (message.destroyed) end("", { connectionError: { code: "ECONNRESET" } });
}

const decoders: ReadonlyMap<string, "unzip" | "brotliDecompress"> = new Map([
  ["gzip", "unzip"],
  ["deflate", "unzip"],
  ["br", "brotliDecompress"],
]);

/** The requests do not ask for encoded bodies; a proxy can encode them nevertheless. */
function decode(
  bytes: Buffer,
  encoding: string,
  end: (text: string, bodyFailure?: HttpResponse["bodyFailure"]) => void,
): void {
  const decoder = decoders.get(encoding);
  if (decoder === undefined) {
    end("", { reason: "a body in an unknown encoding", retryable: true });
    return;
  }
  const run: typeof Zlib.unzip = (getBuiltinModule("node:zlib") as typeof Zlib)[decoder];
  run(bytes, { maxOutputLength: maxBodyBytes }, (error, decoded) => {
    const isTooLong = (error as { code?: string } | null)?.code === "ERR_BUFFER_TOO_LARGE";
    if (error === null) end(decoded.toString());
    else end("", isTooLong ? tooLong : { reason: `a body that is not valid ${encoding}`, retryable: true });
  });
}

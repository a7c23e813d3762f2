/** Sends requests over node:http and node:https, with Node's connections that stay open: the default on Node.js. */
import type * as Http from "node:http";
import type * as Zlib from "node:zlib";
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import {
  type AttemptFailure,
  type HttpResponse,
  maxBodyBytes,
  type Transport,
  toHeaders,
  toTooLong,
  toUnusable,
} from "./call.ts";
import { describeNetworkFailure } from "./network-failure.ts";

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
    const response = new Promise<HttpResponse | AttemptFailure>((resolve) => {
      let hasHead = false;
      const fail = (error: unknown) => describeNetworkFailure(error, hasHead, baseUrl);
      request.on("response", (message) => {
        hasHead = true;
        readMessage(message, resolve, fail);
      });
      request.on("upgrade", (message, socket) => {
        readMessage(message, resolve, fail); // 101, which the client rejects
        socket.destroy();
      });
      request.on("error", (error) => {
        if (!hasHead) resolve(fail(error)); // afterwards the message reports what happens to the connection
      });
    });
    request.end(body);
    return { response, abort: () => request.destroy() };
  };
}

/** Reads the body by events, because an async iterator adds a tenth to the time of a call. */
function readMessage(
  message: Http.IncomingMessage,
  resolve: (response: HttpResponse) => void,
  fail: (error: unknown) => AttemptFailure,
): void {
  const { statusCode: status = 0 } = message;
  const header = (name: string) => {
    const value = message.headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  const headers = () => toHeaders(Object.keys(message.headers).map((name) => [name, header(name) ?? ""]));
  const end = (text: string, bodyFailure?: AttemptFailure) =>
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
    end("", toTooLong(status));
    message.destroy();
  });
  message.on("end", () => {
    const bytes = Buffer.concat(chunks);
    // The requests do not ask for encoded bodies; a proxy can encode them nevertheless.
    const encoding = header("content-encoding")?.trim().toLowerCase() ?? "";
    if (encoding === "" || encoding === "identity" || length === 0) return end(bytes.toString());
    const decoder = decoders.get(encoding);
    if (decoder === undefined) return end("", toUnusable(status, "a body in an unknown encoding.", true));
    const decode: typeof Zlib.unzip = (getBuiltinModule("node:zlib") as typeof Zlib)[decoder];
    decode(bytes, { maxOutputLength: maxBodyBytes }, (error, decoded) => {
      const isTooLong = (error as { code?: string } | null)?.code === "ERR_BUFFER_TOO_LARGE";
      if (error === null) end(decoded.toString());
      else if (isTooLong) end("", toTooLong(status));
      else end("", toUnusable(status, `a body that is not valid ${encoding}.`, true));
    });
  });
  message.on("error", (error) => end("", fail(error)));
  // A connection that failed in the same turn as the head arrived emits no further event.
  if (message.destroyed) end("", fail({ code: "ECONNRESET" }));
}

const decoders: ReadonlyMap<string, "unzip" | "brotliDecompress"> = new Map([
  ["gzip", "unzip"],
  ["deflate", "unzip"],
  ["br", "brotliDecompress"],
]);

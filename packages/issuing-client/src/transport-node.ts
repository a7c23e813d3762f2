/**
 * Sends requests over node:http and node:https, with Node's connections that stay open: the default
 * on Node.js.
 */
import type * as Http from "node:http";
import type * as Zlib from "node:zlib";
import { BoundedBuffer, decodeUtf8 } from "@loyalty-cards/internal/bounded-body";
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import type { Result } from "@loyalty-cards/internal/result";
import { describeNetworkFailure, describeThrownRequest } from "./network-failure.ts";
import { isRedirect } from "./response.ts";
import {
  type AttemptFailure,
  type HttpRequest,
  type HttpResponse,
  maxBodyBytes,
  type Transport,
  toHeaders,
  tooLong,
  unusable,
} from "./transport.ts";

/**
 * Creates the transport. It takes less than half of the processor time of fetch. Idle connections
 * of Node's global agent do not keep the process running; with `NODE_USE_ENV_PROXY=1` the agent
 * uses the proxy of the environment.
 * @returns undefined in a runtime without node:http.
 */
export function createNodeTransport(baseUrl: string): Transport | undefined {
  const { protocol, hostname, port, pathname } = new URL(baseUrl);
  // Both modules have the same functions.
  const id = protocol === "https:" ? "node:https" : "node:http";
  const http = getBuiltinModule(id) as typeof Http | undefined;
  if (http === undefined) return undefined;

  const host = hostname.replace(/^\[|\]$/g, ""); // an IPv6 address without its brackets
  const basePath = pathname === "/" ? "" : pathname;
  const fail = (error: unknown, wasSent?: boolean) =>
    describeNetworkFailure(error, { wasSent, baseUrl });

  /** `request` is looked up at each call, because MSW, nock and OpenTelemetry replace it. */
  const createRequest = ({ method, path, headers }: HttpRequest) =>
    http.request({
      host,
      port,
      path: basePath + path,
      method,
      headers,
      joinDuplicateHeaders: true, // as fetch does, instead of dropping all but the first
    });

  return (input) => {
    let request: Http.ClientRequest;
    try {
      request = createRequest(input);
    } catch (error) {
      return { response: Promise.resolve(describeThrownRequest(error)), abort: () => {} };
    }
    const response = new Promise<Result<HttpResponse, AttemptFailure>>((resolve) => {
      const read = (message: Http.IncomingMessage) =>
        resolve(readMessage(message, (error) => fail(error, true)));
      request.on("response", read);
      request.on("upgrade", (message, socket) => {
        read(message); // 101, which the client rejects
        socket.destroy();
      });
      // After the head, the message reports what happens to the connection.
      request.on("error", (error) => {
        const wasSent = isInHandshake(request) ? false : undefined;
        resolve(fail(error, wasSent));
      });
    });
    // Node.js sends the body of a DELETE or OPTIONS without its length: the server would read it as
    // the next request.
    if (input.body !== undefined)
      request.setHeader("content-length", Buffer.byteLength(input.body));
    request.end(input.body);
    return { response, abort: () => request.destroy() };
  };
}

/** Whether the TLS handshake of a new connection has not finished, so nothing was sent. */
function isInHandshake({ socket }: Http.ClientRequest): boolean {
  return (socket as { secureConnecting?: boolean } | null)?.secureConnecting === true;
}

type Fail = (error: unknown) => { failure: AttemptFailure };

async function readMessage(
  message: Http.IncomingMessage,
  fail: Fail,
): Promise<{ value: HttpResponse }> {
  const { statusCode: status = 0 } = message;
  const header = (name: string) => {
    const value = message.headers[name];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  };
  const headers = () =>
    toHeaders(
      Object.entries(message.headers).flatMap(([name, value = ""]) =>
        [value].flat().map((each): [string, string] => [name, each]),
      ),
    );
  const bytes = await readBytes(message, status, fail);
  const encodings = header("content-encoding");
  let body: HttpResponse["body"];
  if (bytes.failure !== undefined) body = bytes;
  else if (encodings === null || bytes.value.length === 0)
    body = { value: decodeUtf8(bytes.value) };
  else body = await decode(bytes.value, status, encodings);
  return { value: { status, header, headers, body } };
}

/** Reads the body by events, because an async iterator adds a tenth to the time of a call. */
function readBytes(
  message: Http.IncomingMessage,
  status: number,
  fail: Fail,
): Promise<Result<Uint8Array, AttemptFailure>> {
  const buffer = new BoundedBuffer(maxBodyBytes);
  return new Promise((resolve) => {
    const end = (result: Result<Uint8Array, AttemptFailure>) => {
      resolve(result);
      message.destroy();
    };
    if (status < 200 || isRedirect(status)) return end({ value: buffer.bytes() });
    message.on("data", (chunk: Buffer) => {
      if (!buffer.add(chunk)) end(tooLong(status));
    });
    message.on("end", () => resolve({ value: buffer.bytes() }));
    message.on("error", (error) => resolve(fail(error)));
    // A connection that failed in the same turn as the head arrived emits no further event.
    if (message.destroyed) resolve(fail({ code: "ECONNRESET" }));
  });
}

const maxEncodings = 5;

/**
 * Undoes the encodings of a body, which are listed in the order in which they were applied (RFC
 * 9110, 8.4). The requests do not ask for them; a proxy can encode nevertheless. Other words, such
 * as `utf-8` and `none`, change no bytes.
 */
async function decode(
  bytes: Uint8Array,
  status: number,
  contentEncoding: string,
): Promise<Result<string, AttemptFailure>> {
  const encodings = contentEncoding.toLowerCase().split(/[\s,]+/);
  if (encodings.length > maxEncodings)
    return unusable(status, `a body with more than ${maxEncodings} content encodings.`);
  let decoded = bytes;
  for (const encoding of encodings.reverse()) {
    const decoder = findDecoder(encoding, decoded);
    if (decoder === undefined) continue;
    const result = await decompress(decoded, { decoder, encoding, status });
    if (result.failure !== undefined) return result;
    decoded = result.value;
  }
  const text = decodeUtf8(decoded);
  const isReadable = decoded !== bytes || !text.includes("\ufffd");
  return isReadable
    ? { value: text }
    : unusable(status, "a body in an unknown encoding.", { isRetryable: true });
}

type Decoder = "unzip" | "inflateRaw" | "brotliDecompress";

/** @returns undefined for a word that is not an encoding of bytes, or an unknown one. */
function findDecoder(encoding: string, [first = 0]: Uint8Array): Decoder | undefined {
  if (encoding === "br") return "brotliDecompress";
  if (encoding === "gzip" || encoding === "x-gzip") return "unzip";
  if (encoding !== "deflate") return undefined;
  return (first & 0x0f) === 8 ? "unzip" : "inflateRaw"; // some servers omit the header of zlib
}

function decompress(
  bytes: Uint8Array,
  { decoder, encoding, status }: { decoder: Decoder; encoding: string; status: number },
): Promise<Result<Uint8Array, AttemptFailure>> {
  const run: typeof Zlib.unzip = (getBuiltinModule("node:zlib") as typeof Zlib)[decoder];
  return new Promise((resolve) => {
    run(bytes, { maxOutputLength: maxBodyBytes }, (error, decoded) => {
      const isTooLong = (error as { code?: string } | null)?.code === "ERR_BUFFER_TOO_LARGE";
      if (error === null) resolve({ value: decoded });
      else if (isTooLong) resolve(tooLong(status));
      else
        resolve(unusable(status, `a body that is not valid ${encoding}.`, { isRetryable: true }));
    });
  });
}

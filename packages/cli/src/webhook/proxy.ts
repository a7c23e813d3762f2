/** A verifying proxy for the end of a tunnel: sends deliveries to a local receiver byte for byte, and returns its response. */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { isWebhookVerificationError, verifyWebhook, type WebhookEvent } from "@loyalty-cards/webhook-verify";
import { type DeliveryResult, maxBodyBytes, sendDelivery } from "./send-delivery.ts";

export interface ProxyOptions {
  to: URL;
  secret: string;
  port: number;
  /** The time limit of the receiver's response. */
  timeoutMs: number;
  toleranceSeconds: number;
  /** Forwards deliveries that fail verification too. By default they get 401, because anyone can send to a tunnel. */
  forwardsRejected: boolean;
  onDelivery: (delivery: ProxiedDelivery) => void;
  now: () => number;
}

/** A request that arrived, complete or not. */
export interface ProxiedDelivery {
  receivedAt: string;
  /** Present when the delivery verified. */
  event?: WebhookEvent;
  /** Why it was rejected: a reason of the verification, or `method`, `too-large` or `too-many-requests`. */
  rejected?: string;
  /** What the receiver responded; absent when it did not get the delivery. */
  result?: DeliveryResult;
  /** The status that was returned. */
  status: number;
}

export interface Proxy {
  url: string;
  close(): Promise<void>;
}

/** Anyone can send to a tunnel. Each request holds at most a body and a response of 1 MiB, so these bound the memory to 64 MiB. */
const maxRequests = 32;
const maxConnections = 64;
const requestTimeoutMs = 10_000;

/** @throws the system's error when the port is taken. */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  let running = 0;
  /** Connections with a request whose response is not complete. */
  const busy = new Set<Socket>();
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      const { socket } = request;
      // Tunnels send one request at a time on a connection. Responses to pipelined ones would wait in memory.
      if (busy.has(socket)) return void socket.destroy();
      busy.add(socket);
      const isAccepted = running < maxRequests;
      if (isAccepted) running += 1;
      const closed = new Promise<void>((resolve) => response.once("close", resolve));
      const handled = respond(options, request, response, isAccepted).catch(() => response.destroy());
      // A request counts until the receiver has responded too: closing the connection early does not free its memory.
      void Promise.all([closed, handled]).then(() => {
        busy.delete(socket);
        if (isAccepted) running -= 1;
      });
    },
  );
  server.maxConnections = maxConnections;
  server.setTimeout(options.timeoutMs + requestTimeoutMs); // closes connections whose client does not read the response
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject); // stays: an error of a later connection must not end the process
    server.listen(options.port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(
  options: ProxyOptions,
  request: IncomingMessage,
  response: ServerResponse,
  isAccepted: boolean,
): Promise<void> {
  const receivedAt = new Date(options.now()).toISOString();
  const reject = (status: number, rejected: string, headers: OutgoingHttpHeaders = {}) => {
    options.onDelivery({ receivedAt, rejected, status });
    response.writeHead(status, headers).end();
  };
  if (!isAccepted) {
    request.resume();
    return reject(503, "too-many-requests", { connection: "close" });
  }
  if (request.method !== "POST") {
    request.resume();
    return reject(405, "method", { allow: "POST" });
  }
  const body = await readBody(request);
  if (body === undefined) return reject(413, "too-large", { connection: "close" });

  const verdict = await verify(options, request, body);
  if ("rejected" in verdict && !options.forwardsRejected) return reject(401, verdict.rejected);
  const { to: url, timeoutMs } = options;
  const result = await sendDelivery({
    url,
    headers: toForwarded(toPairs(request.rawHeaders)),
    body,
    timeoutMs,
  });
  const status = "status" in result ? result.status : result.error === "timeout" ? 504 : 502;
  options.onDelivery({ receivedAt, ...verdict, result, status });
  if (!("status" in result)) return void response.writeHead(status).end();
  const returned = toPairs(result.rawHeaders).filter(([name]) => !isOfConnection(name));
  const hasBody = status !== 204 && status !== 304;
  if (hasBody) returned.push(["content-length", String(result.body.byteLength)]);
  response.writeHead(status, returned.flat()).end(hasBody ? result.body : undefined);
}

/**
 * Resolves with undefined as soon as the body is longer than the limit. The rest is discarded, so that the client reads the response;
 * the request timeout ends a client that continues to send.
 */
function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const buffer = new BoundedBuffer(maxBodyBytes);
  return new Promise((resolve, reject) => {
    let isTooLarge = false;
    request.on("data", (chunk: Uint8Array) => {
      if (isTooLarge || buffer.add(chunk)) return;
      isTooLarge = true;
      resolve(undefined);
    });
    request.once("end", () => resolve(buffer.bytes()));
    request.once("error", reject);
    request.once("close", () => reject(new Error("The client closed the connection.")));
  });
}

async function verify(
  { secret, toleranceSeconds, now }: ProxyOptions,
  { headersDistinct }: IncomingMessage,
  rawBody: Uint8Array,
): Promise<{ event: WebhookEvent } | { rejected: string }> {
  const signature = headersDistinct["service-signature"];
  try {
    return { event: await verifyWebhook({ rawBody, signature, secret, toleranceSeconds, now }) };
  } catch (error) {
    if (isWebhookVerificationError(error)) return { rejected: error.reason };
    throw error;
  }
}

function toPairs(rawHeaders: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index < rawHeaders.length; index += 2)
    pairs.push([rawHeaders[index] as string, rawHeaders[index + 1] as string]);
  return pairs;
}

/** Headers that belong to one connection (RFC 9110 7.6.1), and those that the next request sets itself. */
const connectionHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const isOfConnection = (name: string) => connectionHeaders.has(name.toLowerCase());

function toForwarded(pairs: readonly [string, string][]): OutgoingHttpHeaders {
  const headers = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    if (!isOfConnection(name)) headers.set(name, [...(headers.get(name) ?? []), value]);
  }
  return Object.fromEntries(
    [...headers].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

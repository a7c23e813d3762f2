/**
 * `webhook listen`: at the end of a tunnel, verifies deliveries, forwards them byte for byte to a
 * local receiver, and returns its response.
 */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import {
  isWebhookVerificationError,
  verifyWebhook,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";
import type { Context } from "../command.ts";
import { formatTable, formatTime, style, Text, text } from "../printable.ts";
import { waitForStop } from "../printer.ts";
import {
  type DeliveryResult,
  explainFailure,
  maxBodyBytes,
  readReceiver,
  secretAdvice,
  sendDelivery,
} from "./receiver.ts";

interface ListenOptions {
  port: number;
  tolerance: number;
  to?: string;
}

/** What happened to a request. */
interface Forwarded {
  /** Present when the delivery verified. */
  event?: WebhookEvent;
  /**
   * Why it did not verify: a reason of the verification, `method-not-allowed` or `too-large`. Only
   * `invalid-payload` is forwarded.
   */
  rejected?: string;
  /** What the receiver responded; absent when it did not get the delivery. */
  result?: DeliveryResult;
  /** The status that was returned. */
  status: number;
}

/**
 * Anyone can send to a tunnel. A connection has one request, which holds at most a body and a
 * response of 1 MiB, so this bounds the memory.
 */
const maxConnections = 32;
const requestTimeoutMs = 10_000;

export async function runListen(context: Context, options: ListenOptions): Promise<undefined> {
  const { print, sources, terminal, timeoutMs } = context;
  const { url: to, secret } = readReceiver(options.to, sources);
  const settings = {
    to,
    timeoutMs,
    secret,
    toleranceSeconds: options.tolerance,
  };
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 1, // a connection has one request, and its client may not close it
    },
    async (request, response) => {
      const receivedMs = Date.now();
      try {
        const forwarded = await forward(settings, request, response);
        print.data(toJson(forwarded, receivedMs), () =>
          formatForwarded(forwarded, { receivedMs, to, width: print.dataColumns }),
        );
      } catch {
        response.destroy(); // the client has closed the connection
      }
    },
  );
  server.maxConnections = maxConnections;
  server.maxRequestsPerSocket = 1;
  // Closes connections whose client does not read the response.
  server.setTimeout(timeoutMs + requestTimeoutMs);
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject); // not removed: a later error must not end the process
    server.listen(options.port, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stopped = waitForStop(terminal);
  const rows = [
    ["Tunnel to", style("cyan", url)],
    ["Receiver", to.href],
  ];
  if (print.isJson) print.data({ kind: "ready", url, to: to.href }, () => "");
  else
    print.info(
      text`${style("bold", "Listening")} for deliveries. Ctrl-C stops it.\n\n${formatTable(rows)}\n`,
    );
  await stopped;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  print.info("Stopped.");
}

interface Settings {
  to: URL;
  secret: string;
  toleranceSeconds: number;
  /** The time limit of the receiver's response. */
  timeoutMs: number;
}

async function forward(
  settings: Settings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Forwarded> {
  const { to: url, timeoutMs } = settings;
  const reject = (
    status: number,
    rejected: string,
    headers: OutgoingHttpHeaders = {},
  ): Forwarded => {
    request.resume();
    response.writeHead(status, headers).end();
    return { rejected, status };
  };
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  if (request.method !== "POST") return reject(405, "method-not-allowed", { allow: "POST" });
  // The connection stays open for the response.
  const body = await readBounded(request.iterator({ destroyOnReturn: false }), maxBodyBytes);
  if (body === undefined) return reject(413, "too-large");

  const verdict = await verify(settings, request, body);
  // Anyone can send to a tunnel. A signed body that is not an event is forwarded: what responds to
  // it is the receiver.
  if ("rejected" in verdict && verdict.rejected !== "invalid-payload")
    return reject(401, verdict.rejected);
  const headers = selectHeaders(request.rawHeaders);
  const result = await sendDelivery({ url, headers, body, timeoutMs, signal: gone.signal });
  if (!("status" in result)) {
    const status = result.error === "timeout" ? 504 : 502;
    response.writeHead(status).end();
    return { ...verdict, result, status };
  }
  const { status } = result;
  const returned = selectHeaders(result.rawHeaders);
  const hasBody = status !== 204 && status !== 304;
  if (hasBody) returned.push("content-length", String(result.body.byteLength));
  response.writeHead(status, returned).end(hasBody ? result.body : undefined);
  return { ...verdict, result, status };
}

async function verify(
  { secret, toleranceSeconds }: Settings,
  { headersDistinct }: IncomingMessage,
  rawBody: Uint8Array,
): Promise<{ event: WebhookEvent } | { rejected: string }> {
  const signature = headersDistinct["service-signature"];
  try {
    return { event: await verifyWebhook({ rawBody, signature, secret, toleranceSeconds }) };
  } catch (error) {
    if (isWebhookVerificationError(error)) return { rejected: error.reason };
    throw error;
  }
}

/** Headers of one connection (RFC 9110 7.6.1), and those that the next request sets itself. */
const ownHeaders: ReadonlySet<string> = new Set([
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

/**
 * @param rawHeaders names and values in turn.
 * @returns those that are forwarded.
 */
const selectHeaders = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.filter((_, index) => {
    const name = rawHeaders[index - (index % 2)] ?? "";
    return !ownHeaders.has(name.toLowerCase());
  });

/** Members that are undefined are not in the JSON. */
function toJson({ event, rejected, result, status }: Forwarded, receivedMs: number) {
  return {
    kind: "delivery",
    receivedAt: new Date(receivedMs).toISOString(),
    verified: event !== undefined,
    rejected,
    type: event && String(event.type),
    id: event?.id,
    durationMs: result?.durationMs,
    error: result && "error" in result ? result.error : undefined,
    status,
  };
}

/** `12:31:07  204    12 ms  ✓ balance.changed  evt_0mm…`; below a mismatch, what to check. */
function formatForwarded(
  { event, rejected, result, status }: Forwarded,
  { receivedMs, to, width }: { receivedMs: number; to: URL; width: number },
): Text {
  const duration = result === undefined ? "" : `${result.durationMs} ms`;
  const failure = result === undefined ? "" : explainFailure(result, to);
  const subject =
    event === undefined
      ? style("red", result === undefined ? `✗ rejected: ${rejected}` : `✗ ${rejected}`)
      : text`${style("green", "✓")} ${style("bold", String(event.type))}  ${style("dim", event.id)}`;
  const columns = [
    style("dim", formatTime(receivedMs)),
    style(status < 300 ? "green" : "red", String(status)),
    style("dim", duration.padStart(7)),
    text`${subject}${failure && style("yellow", `  ${failure}`)}`,
  ];
  const line = Text.join(columns, "  ");
  if (rejected !== "mismatch") return line;
  const advice = text`${" ".repeat(24)}${secretAdvice}`.reflow(width);
  return Text.lines([line, style("yellow", advice)]);
}

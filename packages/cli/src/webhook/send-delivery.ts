/** Sends one delivery byte for byte on a new connection, and reads the response without redirects or decompression. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { readBounded } from "@loyalty-cards/internal/bounded-body";

/** The largest body of a delivery and of a response. */
export const maxBodyBytes = 1024 * 1024;

export interface DeliveryRequest {
  url: URL;
  headers: OutgoingHttpHeaders;
  body: Uint8Array;
  /** The service waits 10 seconds ([spec 6.3.1](https://loyalty-cards.github.io/loyalty-cards/specification#spec-6-3-1)). */
  timeoutMs: number;
}

export interface ReceiverResponse {
  status: number;
  /** Names and values in turn, as they arrived. */
  rawHeaders: readonly string[];
  body: Uint8Array;
  durationMs: number;
}

/** There was no response. */
export interface NoResponse {
  /** `timeout`, `response-too-large`, or the code of the system, for example `ECONNREFUSED`. */
  error: string;
  durationMs: number;
}

export type DeliveryResult = ReceiverResponse | NoResponse;

/** Never rejects: a delivery that has no response is a result. */
export async function sendDelivery({
  url,
  headers,
  body,
  timeoutMs,
}: DeliveryRequest): Promise<DeliveryResult> {
  const startedMs = performance.now();
  const getDuration = () => Math.round(performance.now() - startedMs);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  let request: ClientRequest | undefined;
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    request?.destroy(new Error("timeout"));
  }, timeoutMs);
  try {
    request = send(url, {
      method: "POST",
      agent: false,
      headers: { ...headers, "content-length": body.byteLength },
    });
    const response = await readResponse(request, body);
    const content = await readBounded(response, maxBodyBytes);
    if (content === undefined) return { error: "response-too-large", durationMs: getDuration() };
    const { statusCode: status = 0, rawHeaders } = response;
    return { status, rawHeaders, body: content, durationMs: getDuration() };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { error: hasTimedOut ? "timeout" : (code ?? message), durationMs: getDuration() };
  } finally {
    clearTimeout(timer);
    request?.destroy();
  }
}

function readResponse(request: ClientRequest, body: Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.on("error", reject); // stays: the connection can also break later
    request.end(body);
  });
}

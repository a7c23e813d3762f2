/** Sends one delivery byte for byte on a new connection, without redirects or decompression, and says what to change in the receiver. */
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { readBounded } from "@loyalty-cards/internal/bounded-body";
import { style, Text, text } from "../printable.ts";
import type { Printer } from "../printer.ts";

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

/** Why the receiver has to reject a delivery. */
export type Rejection = "bad-signature" | "stale";

export interface SentDelivery {
  type: string;
  id: string;
  url: URL;
  /** For example `duplicate`. */
  notes: readonly string[];
  /** Absent: the receiver has to accept it. */
  rejection?: Rejection | undefined;
}

/** Prints the result of a delivery. @returns whether the response is what the specification asks for. */
export function reportDelivery(print: Printer, delivery: SentDelivery, result: DeliveryResult): boolean {
  const { type, id, notes, rejection } = delivery;
  const { durationMs } = result;
  const outcome = "status" in result ? { status: result.status } : { error: result.error };
  const advice = findAdvice(delivery, result);
  const passed = advice === undefined;
  const expected = rejection === undefined ? "2xx" : "4xx";
  print.data({ type, id, notes, expected, ...outcome, durationMs, passed, ...(advice && { advice }) }, () => {
    const mark = passed ? style("green", "✓") : style("red", "✗");
    const code = style(passed ? "green" : "red", String(outcome.status ?? "---"));
    const time = style("dim", `${durationMs} ms`.padStart(7));
    const remarks = [...notes, ...(outcome.error === undefined ? [] : [outcome.error])].join(", ");
    const line = text`${mark} ${code} ${time}  ${style("bold", type)} ${id} ${remarks && style("dim", remarks)}`;
    const details = advice === undefined ? [] : [Text.from(advice).wrap(print.columns, "    ")];
    return Text.lines([line.trimEnd().reflow(print.dataColumns, "    "), ...details]);
  });
  return passed;
}

/** What to change; undefined when the response is as it should be. */
function findAdvice({ url, rejection }: SentDelivery, result: DeliveryResult): string | undefined {
  if (!("status" in result)) return describeNoResponse(result.error, url);
  const { status } = result;
  const statusClass = Math.floor(status / 100);
  if (statusClass === 3) return "The service does not follow redirects: use the final address."; // spec 6.3.5
  if (status === 404 || status === 405)
    return `Nothing receives POST at ${url.pathname}: correct the address, or mount the receiver there.`;
  if (rejection !== undefined) return findAdviceForAccepted(rejection, statusClass);
  if (statusClass === 2) return undefined;
  if (status === 401 || status === 403)
    return "The receiver rejected the signature: does it use the same secret, and the raw body? `loyalty-cards webhook doctor` finds the cause.";
  if (statusClass === 5)
    return "The receiver failed: see its log. The service would deliver the event again.";
  return "The service counts every response except 2xx as a failure, and delivers the event again.";
}

function findAdviceForAccepted(rejection: Rejection, statusClass: number): string | undefined {
  if (statusClass === 4) return undefined;
  if (statusClass !== 2) return "The receiver failed instead of rejecting the delivery: respond 401.";
  return rejection === "stale"
    ? "The receiver accepted a delivery that was signed ten minutes ago: reject a `t` that is more than 300 s old." // spec 5.7
    : "The receiver accepted a wrong signature, so anybody can send it events: verify the raw body before you use it."; // spec 5.7
}

export function describeNoResponse(error: string, url: URL): string {
  switch (error) {
    case "timeout":
      return "There was no response in time: respond first, and work afterwards."; // spec 6.3.6
    case "ECONNREFUSED":
      return `Nothing listens at ${url.origin}: start the receiver, or correct the address.`;
    case "response-too-large":
      return "The response has more than 1 MiB: respond 204 without a body.";
    default:
      return "The connection failed before there was a response: see the receiver's log.";
  }
}

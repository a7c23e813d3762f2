/**
 * Receives Node requests and sends the response, for frameworks built on node:http or node:http2.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { addChunk, type BodyResult, type ReadLimits, type RequestHead, toBytes } from "./body.ts";
import type { WebhookEvent } from "./event.ts";
import type { AdapterTraits, ReceiverOptions } from "./options.ts";
import type { Reporter } from "./outcomes.ts";
import { createAdapterReceiver, type ReceiverResponse } from "./receiver.ts";

export type { IncomingMessage, Readable, ServerResponse };

/** A request of a framework, and where parsers store a body that they have read. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/**
 * Creates a handler that receives and responds. For a request of Node.js its promise never rejects:
 * an error becomes a response and a log line.
 */
export function nodeHandler(traits: AdapterTraits, options: ReceiverOptions) {
  const { receive, reporter, handlesEvents } = createAdapterReceiver(traits, options);
  /** @param forwardEvent called with the verified event instead of sending the response. */
  async function handle(
    request: NodeRequest,
    response: ServerResponse,
    forwardEvent?: (event: WebhookEvent) => void,
  ): Promise<void> {
    if (typeof request?.on !== "function" || typeof response?.writeHead !== "function") {
      const wrongUse = `${traits.name} takes a request and a response of node:http, in this order. In Fastify use fastifyReceiver; for a Request use nextRoute or fetchReceiver.`;
      reporter.write(wrongUse, { limitBy: "wrong-use" }); // Fastify without a logger shows no error
      throw new TypeError(wrongUse);
    }
    const result = await receive(toHead(request), (limits) => readNodeBody(request, limits));
    try {
      if (forwardEvent !== undefined && result.event !== undefined) forwardEvent(result.event);
      else if (!response.headersSent && !response.writableEnded) {
        response.writeHead(result.status, selectHeaders(request, result));
        response.end(); // a middleware may have replaced writeHead, and return nothing
      } else if (forwardEvent === undefined) reporter.write(sentBefore, { limitBy: "sent-before" });
    } catch (error) {
      failToRespond(error, response, reporter);
    }
    await result.afterResponse?.();
  }
  return { handle, reporter, handlesEvents };
}

/** HTTP/2 has no `connection` header, and Node warns about one (RFC 9113, 8.2.2). */
export function selectHeaders(
  { httpVersionMajor }: NodeRequest,
  { headers }: ReceiverResponse,
): ReceiverResponse["headers"] {
  if (httpVersionMajor !== 2) return headers;
  const { connection: _, ...others } = headers;
  return others;
}

/** The service sees that response, even when the event was not accepted. */
const sentBefore =
  "the response was sent before the receiver could send its own: only the receiver may respond on its route.";

export const toHead = (request: NodeRequest): RequestHead => ({
  method: request.method ?? "",
  headers: { get: (name) => request.headers[name] ?? null },
});

/** @param stream a stream of the same bytes, in place of the request. */
export function readNodeBody(
  request: NodeRequest,
  limits: ReadLimits,
  stream: Readable = request,
): BodyResult | Promise<BodyResult> {
  if (!stream.readableDidRead && !stream.readableEnded) {
    if (stream.destroyed) return { failure: { reason: "unreadable" } }; // it has no further events
    return collectFromEvents(stream, limits);
  }
  for (const parsed of [request.body, request.rawBody]) {
    // A string is not used, because decoding may have changed the signed bytes.
    const bytes = typeof parsed === "string" ? undefined : toBytes(parsed);
    if (bytes !== undefined) return { value: bytes };
  }
  return { failure: { reason: "already-consumed" } };
}

/**
 * Handles an error that a middleware or a hook threw when the response was sent: without this, the
 * process would end.
 */
export function failToRespond(error: unknown, response: ServerResponse, reporter: Reporter): void {
  reporter.logUnexpectedError(error, "the response could not be sent.");
  if (!response.writableEnded) response.destroy();
}

/**
 * Uses events: an async iterator takes longer than the rest of the receiver, and destroys the
 * stream of a body that is too large.
 */
function collectFromEvents(stream: Readable, limits: ReadLimits): Promise<BodyResult> {
  const buffer = new BoundedBuffer(limits.maxBodyBytes);
  return new Promise((resolve) => {
    const add = (chunk: unknown) => {
      const added = addChunk(buffer, chunk);
      if (added.failure === undefined) return;
      stream.off("data", add).resume(); // the rest is discarded
      resolve(added);
    };
    const failToRead = () => resolve({ failure: { reason: "unreadable" } });
    stream
      .on("data", add)
      .on("end", () => resolve({ value: buffer.bytes() }))
      .on("error", failToRead)
      .on("close", failToRead); // without effect after `end`
  });
}

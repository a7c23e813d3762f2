/** Receives Node requests and sends the response, for frameworks built on node:http or node:http2. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { addChunk, RawBodyError, type ReadLimits, toBytes } from "./body.ts";
import type { WebhookEvent } from "./event.ts";
import type { ReceiverKind, ReceiverOptions } from "./options.ts";
import { createReceiverOf, type ReceivedRequest } from "./receiver.ts";
import type { Reporter } from "./reporter.ts";

export type { IncomingMessage, Readable, ServerResponse };

/** A request of a framework, and where parsers store a body that they have read. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/** Creates a handler that receives and responds. For a request of Node.js its promise never rejects: an error becomes a response and a log line. */
export function nodeHandler(kind: ReceiverKind, options: ReceiverOptions) {
  const { receive, reporter } = createReceiverOf(kind, options);
  /** @param forwardEvent called with the verified event instead of sending the response. */
  async function handle(
    request: NodeRequest,
    response: ServerResponse,
    forwardEvent?: (event: WebhookEvent) => void,
  ): Promise<void> {
    if (typeof request?.on !== "function")
      throw new TypeError(`${kind.name} takes no Request: use nextRoute or fetchReceiver.`);
    const result = await receive(toReceived(request));
    try {
      if (forwardEvent !== undefined && result.event !== undefined) forwardEvent(result.event);
      else if (!response.headersSent && !response.writableEnded)
        response.writeHead(result.status, result.headers).end();
    } catch (error) {
      failToRespond(error, response, reporter);
    }
    await result.afterResponse?.();
  }
  return { handle, reporter };
}

/** @param stream a stream of the same bytes, in place of the request. */
export function toReceived(request: NodeRequest, stream: Readable = request): ReceivedRequest {
  return {
    method: request.method ?? "",
    headers: { get: (name) => request.headers[name] ?? null },
    rawBody(limits) {
      if (!stream.readableDidRead && !stream.readableEnded) {
        if (stream.destroyed) throw new RawBodyError("unreadable"); // it has no further events
        return collectFromEvents(stream, limits);
      }
      for (const parsed of [request.body, request.rawBody]) {
        // Not a string: decoding may have changed the signed bytes.
        const bytes = typeof parsed === "string" ? undefined : toBytes(parsed);
        if (bytes !== undefined) return bytes;
      }
      throw new RawBodyError("already-consumed");
    },
  };
}

/** Handles an error that a middleware or a hook threw when the response was sent: without this, the process would end. */
export function failToRespond(error: unknown, response: ServerResponse, reporter: Reporter): void {
  reporter.logUnexpectedError(error, "the response could not be sent.");
  if (!response.headersSent) response.destroy();
}

/** Uses events: an async iterator takes longer than the rest of the receiver, and destroys the stream of a body that is too large. */
function collectFromEvents(stream: Readable, limits: ReadLimits): Promise<Uint8Array> {
  const buffer = new BoundedBuffer(limits.maxBodyBytes);
  return new Promise((resolve, reject) => {
    const unreadable = (cause?: unknown) => reject(new RawBodyError("unreadable", { cause }));
    const add = (chunk: unknown) => {
      try {
        addChunk(buffer, chunk);
      } catch (error) {
        stream.off("data", add).resume(); // the rest is discarded
        reject(error);
      }
    };
    stream
      .on("data", add)
      .on("end", () => {
        stream.off("close", unreadable); // `close` follows `end`, and creating an error is expensive
        resolve(buffer.bytes());
      })
      .on("error", unreadable)
      .on("close", unreadable);
  });
}

/** Receives Node requests and sends the response, for frameworks built on node:http or node:http2. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Readable } from "node:stream";
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { addChunk, type HeadersLike, type RawBody, RawBodyError, type ReadLimits, toBytes } from "../body.ts";
import type { WebhookEvent } from "../event.ts";
import type { ReceiverKind, ReceiverOptions } from "../options.ts";
import { createReceiverOf, type ReceivedRequest, type Receiver } from "../receiver.ts";
import type { ReceiverResponse } from "../responses.ts";

export type { IncomingMessage, ServerResponse };

export type BodyStream = Readable;

/** Where parsers store what they read. */
export interface ParsedBody {
  body?: unknown;
  rawBody?: unknown;
  /** What a hook returned in place of the request: a stream of the same bytes. */
  stream?: BodyStream | undefined;
}

/** A request of a framework, whose body may have been read already. */
export type NodeRequest = IncomingMessage & ParsedBody;

interface HandleOptions {
  /** The framework's own request, where parsers store the body. Default: the Node request. */
  parsedBody?: ParsedBody;
  /** Called with the verified event instead of sending the response. */
  forwardEvent?: (event: WebhookEvent) => void;
}

/** Creates a handler that receives and responds. Its promise never rejects: an error becomes a response and a log line. */
export function nodeHandler(kind: ReceiverKind, options: ReceiverOptions) {
  const { receive, reporter } = createReceiverOf(kind, options);
  const handle = async (
    request: NodeRequest,
    response: ServerResponse,
    { parsedBody, forwardEvent }: HandleOptions = {},
  ): Promise<void> => {
    const result = await receiveFrom(receive, request, parsedBody);
    try {
      if (forwardEvent !== undefined && result.event !== undefined) forwardEvent(result.event);
      else respond(request, response, result);
    } catch (error) {
      reporter.logUnexpectedError(error, respondAfterError(response, result));
    }
    await result.afterResponse?.();
  };
  return { handle, reporter };
}

/** Passes a Node request to the receiver. Never rejects. */
export function receiveFrom(
  receive: Receiver,
  request: NodeRequest,
  parsedBody: ParsedBody = request,
): Promise<ReceiverResponse> {
  return receive(new ReceivedNodeRequest(request, parsedBody));
}

/** A class, because closures and getters for each request take longer than parsing the signature header. */
class ReceivedNodeRequest implements ReceivedRequest {
  readonly headers: HeadersLike = this;
  private readonly request: NodeRequest;
  private readonly parsedBody: ParsedBody;

  constructor(request: NodeRequest, parsedBody: ParsedBody) {
    this.request = request;
    this.parsedBody = parsedBody;
  }

  get method(): string {
    return this.request.method ?? "";
  }

  /** Node joins the lines of a repeated header. A repeated signature must be rejected, so its lines are returned as a list. */
  get(name: string): string | readonly string[] | null {
    const { headers, rawHeaders = [] } = this.request;
    const value = headers[name] ?? null;
    if (name !== "service-signature" || !value?.includes(", ")) return value;
    // Not `headersDistinct`, which requests over HTTP/2 do not have.
    const lines = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
    return lines.length > 1 ? lines : value;
  }

  rawBody(limits: ReadLimits): Promise<RawBody> {
    return readBody(this.request, this.parsedBody, limits);
  }
}

/** Responds, unless a response was sent already or the connection is closed. */
export function respond(
  request: NodeRequest,
  response: ServerResponse,
  { status, headers }: ReceiverResponse,
): void {
  if (response.headersSent || response.writableEnded) return;
  response.statusCode = status;
  const allowed = headersFor(request, headers);
  for (const name in allowed) response.setHeader(name, allowed[name] as string);
  closeUnread(request);
  response.end(); // in one frame with the headers: over HTTP/2 a second frame would be too late for a closed stream
}

/**
 * Responds after {@link respond} threw, with `writeHead` alone; if that throws too, closes the connection.
 * @returns what was done, for the log.
 */
export function respondAfterError(response: ServerResponse, { status, headers }: ReceiverResponse): string {
  try {
    if (response.headersSent) return "a response was sent before.";
    response.writeHead(status, headers);
    response.end();
    return `responded ${status}.`;
  } catch {
    try {
      response.destroy();
    } catch {
      // Nothing else can close it.
    }
    return "closed the connection, so the service delivers again.";
  }
}

/** Whether an upload over HTTP/2 continues although its body is not read. */
export function isUnread(request: NodeRequest): boolean {
  return request.httpVersionMajor === 2 && !request.readableEnded;
}

/**
 * Closes the stream of an unread upload when the response has been sent (RFC 9113, 8.1). Otherwise it stays open until the upload
 * ends, and too many open streams block the session. Over HTTP/1.1, `connection: close` does this. Call it before the response ends.
 */
export function closeUnread(request: NodeRequest): void {
  if (!isUnread(request)) return;
  const { stream } = request as unknown as Http2ServerRequest;
  // In the next turn, because Node 26 drops a response that was not sent yet. Not `close`: from Node 22 on it waits for the unread bytes.
  stream.once("finish", () => setImmediate(() => stream.destroy()));
}

/** The headers without those that the HTTP version of the request does not allow. */
export function headersFor(
  request: NodeRequest,
  headers: ReceiverResponse["headers"],
): Record<string, string> {
  if (headers["connection"] === undefined || request.httpVersionMajor !== 2) return headers;
  const { connection: _, ...others } = headers; // not allowed in HTTP/2
  return others;
}

/** Runs the task when the framework has sent the response, or at once when the connection is closed already. */
export function afterClose(response: ServerResponse, task: ReceiverResponse["afterResponse"]): void {
  if (task === undefined) return;
  if (response.closed || response.destroyed) void task();
  else response.once("close", task);
}

function readBody(
  request: NodeRequest,
  { body, rawBody, stream = request }: ParsedBody,
  limits: ReadLimits,
): Promise<Uint8Array> {
  if (!stream.readableDidRead && !stream.readableEnded) return collectFromEvents(stream, limits);
  for (const parsed of [body, rawBody]) {
    // Not a string: decoding may have changed the signed bytes.
    const bytes = typeof parsed === "string" ? undefined : toBytes(parsed);
    if (bytes !== undefined) return Promise.resolve(bytes);
  }
  return Promise.reject(new RawBodyError("already-consumed"));
}

/** Uses events: an async iterator takes longer than the rest of the receiver, and destroys the stream of a body that is too large. */
function collectFromEvents(
  request: Readable,
  { maxBodyBytes, expectedBytes }: ReadLimits,
): Promise<Uint8Array> {
  const buffer = new BoundedBuffer(maxBodyBytes, expectedBytes);
  return new Promise((resolve, reject) => {
    const unreadable = (cause?: unknown) => reject(new RawBodyError("unreadable", { cause }));
    const add = (chunk: unknown) => {
      try {
        addChunk(buffer, chunk);
      } catch (error) {
        request.off("data", add).pause();
        reject(error);
      }
    };
    request
      .on("data", add)
      .on("end", () => {
        request.off("close", unreadable); // `close` follows `end`, and creating an error is expensive
        resolve(buffer.bytes());
      })
      .on("error", unreadable)
      .on("close", unreadable);
  });
}

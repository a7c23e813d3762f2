/** Receives deliveries as Node requests, for every framework built on node:http or node:http2. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Answer } from "../answer.ts";
import type { WebhookEvent } from "../event.ts";
import { type ReportOptions, reporter } from "../outcome.ts";
import { bodyBuffer, bytesOf, RawBodyError, type ReadLimits } from "../raw-body.ts";
import type { Receiver } from "../receiver.ts";

/** Where parsers leave what they read. */
export interface KeptBody {
  body?: unknown;
  rawBody?: unknown;
}

/** A request as frameworks pass it on: perhaps with a body that somebody read already. */
export type NodeRequest = IncomingMessage & KeptBody;

export type NodeResponse = ServerResponse;

/** What to do with one request: `kept` is the framework's own request, `passOn` takes the event instead of a response. */
interface Handling {
  kept?: KeptBody;
  passOn?: (event: WebhookEvent) => void;
}

/** Receives and responds. The promise never rejects: whatever throws ends as a response and a line in the log. */
export function nodeHandler(receive: Receiver, options: ReportOptions, fix: string) {
  const reporting = reporter(options);
  return async (
    request: NodeRequest,
    response: NodeResponse,
    { kept, passOn }: Handling = {},
  ): Promise<void> => {
    const answer = await receiveFrom(receive, request, fix, kept);
    try {
      if (passOn !== undefined && answer.event !== undefined) passOn(answer.event);
      else respond(request, response, answer);
    } catch (error) {
      reporting.unexpectedError(error, respondAnyway(response, answer));
    }
    await answer.afterAnswer?.();
  };
}

/** Asks the receiver about a Node request; never rejects. `fix` is what to tell when the body is gone. */
export function receiveFrom(
  receive: Receiver,
  request: NodeRequest,
  fix: string,
  kept: KeptBody = request,
): Promise<Answer> {
  return receive({
    get method() {
      return request.method ?? "";
    },
    headers: { get: (name) => headerOf(request, name) },
    rawBody: (limits) => bodyOf(request, kept, limits, fix),
  });
}

/** Node joins the lines of a repeated header; where the signature came twice they have to stay apart. */
function headerOf({ headers, rawHeaders = [] }: NodeRequest, name: string): string | string[] | null {
  if (name === "service-signature") {
    const lines: string[] = [];
    // Not `headersDistinct`: a request over HTTP/2 has none.
    for (let i = 0; i < rawHeaders.length; i += 2) {
      if (rawHeaders[i]?.toLowerCase() === name) lines.push(rawHeaders[i + 1] as string);
    }
    if (lines.length > 1) return lines;
  }
  return headers[name] ?? null;
}

/** Responds, unless somebody else has or the sender has left. */
export function respond(request: NodeRequest, response: NodeResponse, { status, headers }: Answer): void {
  if (response.headersSent || response.writableEnded) return;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headersFor(request, headers))) response.setHeader(name, value);
  closeUnread(request);
  response.end(); // In one frame with the headers: over HTTP/2 a frame of its own comes too late for a closed stream.
}

/**
 * The second try, after something in the way of a response threw: it says what became of the delivery, or ends the
 * connection. @returns what was done, for the log.
 */
export function respondAnyway(response: NodeResponse, { status, headers }: Answer): string {
  try {
    if (response.headersSent) return "a response was sent before.";
    response.writeHead(status, headers);
    response.end();
    return `responded ${status}.`;
  } catch {
    try {
      response.destroy();
    } catch {
      // Then there is nothing left that could end it.
    }
    return "closed the connection, so the service delivers it again.";
  }
}

/** Whether an upload over HTTP/2 goes on that nobody will read. */
export function isUnread(request: NodeRequest): boolean {
  return request.httpVersionMajor === 2 && !request.readableEnded;
}

/**
 * Before the end of a response: over HTTP/2 a stream stays open until its upload ends, and too many open streams block
 * the session, so what nobody will read is cut off (RFC 9113, 8.1). Over HTTP/1.1 the connection's end does that.
 */
export function closeUnread(request: NodeRequest): void {
  if (!isUnread(request)) return;
  const { stream } = request as unknown as Http2ServerRequest;
  stream.once("finish", () => stream.close());
}

/** The headers that this request's version of HTTP may have. */
export function headersFor(request: NodeRequest, headers: Answer["headers"]): Record<string, string> {
  if (headers["connection"] === undefined || request.httpVersionMajor !== 2) return headers;
  const { connection: _, ...others } = headers; // HTTP/2 knows no such header
  return others;
}

/** Runs the task when the framework has sent the answer, or at once when the sender has gone before. */
export function afterClose(response: NodeResponse, task: Answer["afterAnswer"]): void {
  if (task === undefined) return;
  if (response.closed || response.destroyed) void task();
  else response.once("close", task);
}

function bodyOf(
  request: NodeRequest,
  { body, rawBody }: KeptBody,
  limits: ReadLimits,
  fix: string,
): Promise<Uint8Array> {
  if (!request.readableDidRead && !request.readableEnded) {
    return collected(request, limits, fix);
  }
  for (const kept of [body, rawBody]) {
    // A string went through a decoder, which may have changed the bytes that were signed.
    const bytes = typeof kept === "string" ? undefined : bytesOf(kept);
    if (bytes !== undefined) return Promise.resolve(bytes);
  }
  return Promise.reject(new RawBodyError("already-consumed", { fix }));
}

/** By events: an iterator costs more than all the rest of the receiver. The stream outlives a body that is too large. */
function collected(request: NodeRequest, limits: ReadLimits, fix: string): Promise<Uint8Array> {
  const body = bodyBuffer(limits, fix);
  return new Promise((resolve, reject) => {
    const unreadable = (cause?: unknown) => reject(new RawBodyError("unreadable", { cause }));
    const add = (chunk: unknown) => {
      try {
        body.add(chunk);
      } catch (error) {
        request.off("data", add).pause();
        reject(error);
      }
    };
    request
      .on("data", add)
      .on("end", () => {
        request.off("close", unreadable); // it comes now, and an error is dear
        resolve(body.bytes());
      })
      .on("error", unreadable)
      .on("close", unreadable);
  });
}

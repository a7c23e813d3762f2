/** Carries deliveries between a Node request and the receiver, for every framework built on node:http. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "../answer.ts";
import type { HeadersLike } from "../headers.ts";
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

/** Asks the receiver about a Node request. `fix` is what to tell when the body is gone; `kept` is the framework's own request. */
export function receiveFrom(
  receive: Receiver,
  request: NodeRequest,
  fix: string,
  kept: KeptBody = request,
): Promise<Answer> {
  return receive({
    method: request.method ?? "",
    headers: headersOf(request),
    rawBody: (limits) => bodyOf(request, kept, limits, fix),
  });
}

/** Node joins repeated lines; where the signature came twice they have to stay apart. */
function headersOf(request: NodeRequest): HeadersLike {
  const { rawHeaders = [], headers } = request;
  let lines = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 17 && name.toLowerCase() === "service-signature") lines += 1;
  }
  // By a function: the names are in lower case already, so nobody has to look for another spelling.
  return lines > 1
    ? request.headersDistinct
    : { get: (name) => (headers[name] as string | undefined) ?? null };
}

/** Never rejects: whoever answered before us, or left, must not take the process down. */
export async function respond(
  response: NodeResponse,
  { status, headers, afterAnswer }: Answer,
): Promise<void> {
  if (!response.headersSent && !response.writableEnded) {
    response.writeHead(status, headersFor(response, headers));
    response.end();
  }
  await afterAnswer?.();
}

/** The headers that this response's version of HTTP may have. */
export function headersFor(response: NodeResponse, headers: Answer["headers"]): Record<string, string> {
  if (headers["connection"] === undefined || response.req.httpVersionMajor === 1) return headers;
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

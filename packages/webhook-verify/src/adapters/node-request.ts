/** Carries deliveries between a Node request and the receiver, for every framework built on node:http. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "../answer.ts";
import type { HeadersLike } from "../headers.ts";
import { bytesOf, collect, RawBodyError, type ReadLimits } from "../raw-body.ts";
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

/** Repeated lines stay apart where the host knows them; some hosts (injection, HTTP/2, shims) know only joined ones. */
function headersOf({ headersDistinct, headers }: NodeRequest): HeadersLike {
  const areKnown = headersDistinct !== undefined && Object.keys(headersDistinct).length > 0;
  return areKnown ? headersDistinct : headers;
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
  const { connection, ...others } = headers;
  const isHttp1 = response.req.httpVersionMajor === 1; // HTTP/2 knows no such header
  return connection !== undefined && isHttp1 ? { connection, ...others } : others;
}

/** Runs the task when the framework has sent the answer, or at once when the sender has gone before. */
export function afterClose(response: NodeResponse, task: Answer["afterAnswer"]): void {
  if (task === undefined) return;
  if (response.closed || response.destroyed) void task();
  else response.once("close", task);
}

async function bodyOf(
  request: NodeRequest,
  { body, rawBody }: KeptBody,
  limits: ReadLimits,
  fix: string,
): Promise<Uint8Array> {
  if (!request.readableDidRead && !request.readableEnded) {
    // The stream must outlive a body that is too large: the answer leaves by the same socket.
    return collect(request.iterator({ destroyOnReturn: false }), limits, fix);
  }
  for (const kept of [body, rawBody]) {
    // A string went through a decoder, which may have changed the bytes that were signed.
    const bytes = typeof kept === "string" ? undefined : bytesOf(kept);
    if (bytes !== undefined) return bytes;
  }
  throw new RawBodyError("already-consumed", { fix });
}

/** Carries deliveries between a Node request and the receiver, for every framework built on node:http. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "../answer.ts";
import type { HeadersLike } from "../headers.ts";
import { bytesOf, collect, RawBodyError } from "../raw-body.ts";
import type { ReadLimits } from "../reading.ts";
import type { Receiver } from "../receiver.ts";

/** A request as frameworks pass it on: perhaps with a body that somebody read already. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

export type NodeResponse = ServerResponse;

/** Asks the receiver about a Node request. `fix` is what to tell when the body is gone. */
export function receiveFrom(receive: Receiver, request: NodeRequest, fix: string): Promise<Answer> {
  return receive({
    method: request.method ?? "",
    headers: headersOf(request),
    rawBody: (limits) => bodyOf(request, limits, fix),
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
    const { connection, ...others } = headers;
    const isHttp1 = response.req.httpVersionMajor === 1; // HTTP/2 knows no such header
    response.writeHead(status, connection !== undefined && isHttp1 ? headers : others);
    response.end();
  }
  await afterAnswer?.();
}

async function bodyOf(request: NodeRequest, { maxBodyBytes }: ReadLimits, fix: string): Promise<Uint8Array> {
  if (!request.readableDidRead && !request.readableEnded) {
    // The stream must outlive a body that is too large: the answer leaves by the same socket.
    return collect(request.iterator({ destroyOnReturn: false }), maxBodyBytes, fix);
  }
  for (const kept of [request.body, request.rawBody]) {
    // A string went through a decoder, which may have changed the bytes that were signed.
    const bytes = typeof kept === "string" ? undefined : bytesOf(kept);
    if (bytes !== undefined) return bytes;
  }
  throw new RawBodyError("already-consumed", { fix });
}

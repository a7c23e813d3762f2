/** Converts between Request, Response and the receiver, for adapters of the fetch API. */

import { toChunks } from "@loyalty-cards/internal/bounded-body";
import { collectBody, RawBodyError, type ReadLimits } from "../body.ts";
import type { Receiver } from "../receiver.ts";
import type { ReceiverResponse } from "../responses.ts";

/** Never rejects: the receiver reads the members of the request, and handles what they throw. */
export function receiveRequest(receive: Receiver, request: Request, fix: string): Promise<ReceiverResponse> {
  return receive({
    get method() {
      return request.method;
    },
    get headers() {
      return request.headers;
    },
    rawBody: (limits) => readBody(request, limits, fix),
  });
}

export function toResponse({ status, headers }: ReceiverResponse): Response {
  return new Response(null, { status, headers });
}

/** Runs a task when the response has been returned. */
export function runAfter(task: () => Promise<void>): Promise<void> {
  return new Promise((resolve) => setTimeout(() => resolve(task()), 0));
}

async function readBody(request: Request, limits: ReadLimits, fix: string): Promise<Uint8Array> {
  const consumed = () => new RawBodyError("already-consumed", { fix });
  if (request.bodyUsed) throw consumed();
  if (limits.expectedBytes !== undefined) {
    // A server passes at most Content-Length bytes on, and reading at once takes a third of the time of a stream.
    try {
      return new Uint8Array(await request.arrayBuffer());
    } catch (cause) {
      throw !request.bodyUsed && request.body?.locked
        ? consumed()
        : new RawBodyError("unreadable", { cause });
    }
  }
  if (request.body?.locked) throw consumed();
  return request.body === null ? new Uint8Array() : collectBody(toChunks(request.body), limits, fix);
}

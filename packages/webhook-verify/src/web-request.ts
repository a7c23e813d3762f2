/** Receives a `Request` and returns a `Response`, for every framework that speaks fetch. */
import { toChunks } from "@loyalty-cards/internal/bounded-body";
import { collectBody, RawBodyError, type ReadLimits } from "./body.ts";
import type { ReceiverKind, ReceiverOptions } from "./options.ts";
import { createReceiverOf } from "./receiver.ts";

/**
 * Creates a handler. It never rejects for a `Request`.
 * @param keepAlive keeps the platform alive until `afterResponse` is done; `platform` is what the framework passes after the request.
 */
export function webHandler(
  kind: ReceiverKind,
  options: ReceiverOptions,
  keepAlive: (done: Promise<void>, platform: unknown[]) => void,
) {
  const { receive, reporter } = createReceiverOf(kind, options);
  return async (request: Request, ...platform: unknown[]): Promise<Response> => {
    if (typeof request?.arrayBuffer !== "function")
      throw new TypeError(`${kind.name} takes a Request. In pages/api use nextPagesHandler.`);
    const { status, headers, afterResponse } = await receive({
      method: request.method,
      headers: request.headers,
      rawBody: (limits) => readBody(request, limits),
    });
    if (afterResponse !== undefined) {
      const done = new Promise<void>((resolve) => setTimeout(() => resolve(afterResponse()), 0));
      try {
        keepAlive(done, platform);
      } catch (error) {
        reporter.logUnexpectedError(error, "afterResponse runs, but the platform may end before it.");
      }
    }
    return new Response(null, { status, headers });
  };
}

async function readBody(request: Request, limits: ReadLimits): Promise<Uint8Array> {
  if (request.bodyUsed) throw new RawBodyError("already-consumed");
  if (limits.expectedBytes !== undefined) {
    // A server passes at most Content-Length bytes on, and reading at once takes a third of the time of a stream.
    try {
      return new Uint8Array(await request.arrayBuffer());
    } catch (cause) {
      const isLocked = !request.bodyUsed && request.body?.locked;
      throw new RawBodyError(isLocked ? "already-consumed" : "unreadable", { cause });
    }
  }
  if (request.body?.locked) throw new RawBodyError("already-consumed");
  return request.body === null ? new Uint8Array() : collectBody(toChunks(request.body), limits);
}

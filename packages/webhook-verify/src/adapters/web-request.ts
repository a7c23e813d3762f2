/** Receives a `Request` and returns a `Response`, for every framework that speaks fetch. */
import { toChunks } from "@loyalty-cards/internal/bounded-body";
import { collectBody, RawBodyError, type ReadLimits } from "../body.ts";
import type { ReceiverKind, ReceiverOptions } from "../options.ts";
import { createReceiverOf } from "../receiver.ts";

type Task = () => Promise<void>;

/**
 * Creates a handler. It never rejects for a `Request`.
 * @param schedule runs `afterResponse` after the response; `platform` is what the framework passes after the request.
 */
export function webHandler(
  kind: ReceiverKind,
  options: ReceiverOptions,
  schedule: (task: Task, platform: unknown[]) => void,
) {
  const { receive, reporter } = createReceiverOf(kind, options);
  return async (request: Request, ...platform: unknown[]): Promise<Response> => {
    const { status, headers, afterResponse } = await receive({
      method: request.method,
      headers: request.headers,
      rawBody: (limits) => readBody(request, limits),
    });
    try {
      if (afterResponse !== undefined) schedule(afterResponse, platform);
    } catch (error) {
      reporter.logUnexpectedError(error, "afterResponse runs, but the platform may end before it.");
    }
    return new Response(null, { status, headers });
  };
}

/** Runs a task when the response has been returned. */
export function runAfter(task: Task): Promise<void> {
  return new Promise((resolve) => setTimeout(() => resolve(task()), 0));
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

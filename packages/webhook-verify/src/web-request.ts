/** Receives a `Request` and returns a `Response`, for every framework that speaks fetch. */
import { toChunks } from "@loyalty-cards/internal/bounded-body";
import { type BodyResult, collectBody, type ReadLimits } from "./body.ts";
import type { AdapterTraits, ReceiverOptions } from "./options.ts";
import { createAdapterReceiver } from "./receiver.ts";

/**
 * Creates a handler. It never rejects for a `Request`.
 * @param keepAlive keeps the platform alive until `afterResponse` is done; `platform` is what the
 * framework passes after the request.
 */
export function webHandler(
  traits: AdapterTraits,
  options: ReceiverOptions,
  keepAlive: (done: Promise<void>, platform: unknown[]) => void,
) {
  const { receive, reporter } = createAdapterReceiver(traits, options);
  return async (request: Request, ...platform: unknown[]): Promise<Response> => {
    // The request of Hono has `arrayBuffer` too.
    if (typeof request?.arrayBuffer !== "function" || !request.headers) {
      const wrongUse = `${traits.name} takes a Request: in Hono context.req.raw. In pages/api use nextPagesHandler, in Express expressReceiver, in Fastify fastifyReceiver.`;
      reporter.write(wrongUse, { limitBy: "wrong-use" }); // some frameworks show no error
      throw new TypeError(wrongUse);
    }
    const { status, headers, afterResponse } = await receive(request, (limits) =>
      readWebBody(request, limits),
    );
    if (afterResponse !== undefined) {
      const done = new Promise<void>((resolve) => setTimeout(() => resolve(afterResponse()), 0));
      try {
        keepAlive(done, platform);
      } catch (error) {
        reporter.logUnexpectedError(
          error,
          "afterResponse runs, but the platform may end before it.",
        );
      }
    }
    return new Response(null, { status, headers });
  };
}

async function readWebBody(request: Request, limits: ReadLimits): Promise<BodyResult> {
  if (request.bodyUsed) return { failure: { reason: "already-consumed" } };
  // A server passes at most Content-Length bytes on, and reading at once takes a third of the time
  // of a stream.
  if (limits.expectedBytes !== undefined) return readAtOnce(request);
  if (request.body?.locked) return { failure: { reason: "already-consumed" } };
  if (request.body === null) return { value: new Uint8Array() };
  return collectBody(toChunks(request.body), limits);
}

async function readAtOnce(request: Request): Promise<BodyResult> {
  try {
    return { value: new Uint8Array(await request.arrayBuffer()) };
  } catch {
    const isLocked = !request.bodyUsed && request.body?.locked;
    return { failure: { reason: isLocked ? "already-consumed" : "unreadable" } };
  }
}

/** Receives deliveries wherever a handler is a function from Request to Response: Hono, Bun, Deno, Workers, SvelteKit. */
import type { Answer } from "../answer.ts";
import { collect, RawBodyError } from "../raw-body.ts";
import { createReceiver, type ReadLimits, type Receiver, type ReceiverOptions } from "../receiver.ts";

/** Keeps the platform alive until a promise settles, as Workers' execution context does. */
export interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

const fix =
  "Hand over the Request before anything reads its body, or pass request.clone() to whoever reads it first.";

/**
 * A handler for deliveries. An argument that has `waitUntil` keeps the platform alive for `process`, so that
 * `export default { fetch: fetchReceiver({ … }) }` is right on Workers.
 * @throws {TypeError} as createReceiver does.
 */
export function fetchReceiver(
  options: ReceiverOptions,
): (request: Request, ...platform: unknown[]) => Promise<Response> {
  const receive = createReceiver(options);
  return async (request, ...platform) => {
    const answer = await receiveRequest(receive, request, fix);
    if (answer.afterAnswer !== undefined) runAfter(answer.afterAnswer, platform.find(isExecutionContext));
    return responseOf(answer);
  };
}

export function receiveRequest(receive: Receiver, request: Request, fix: string): Promise<Answer> {
  return receive({
    method: request.method,
    headers: request.headers,
    rawBody: (limits) => bodyOf(request, limits, fix),
  });
}

export function responseOf({ status, headers }: Answer): Response {
  return new Response(null, { status, headers });
}

/** Lets the answer leave first. */
export function runAfter(task: () => Promise<void>, context?: ExecutionContext): void {
  const done = new Promise<void>((resolve) => setTimeout(() => resolve(task()), 0));
  context?.waitUntil(done);
}

function isExecutionContext(value: unknown): value is ExecutionContext {
  return typeof (value as ExecutionContext | null | undefined)?.waitUntil === "function";
}

async function bodyOf(request: Request, { maxBodyBytes }: ReadLimits, fix: string): Promise<Uint8Array> {
  if (request.bodyUsed) throw new RawBodyError("already-consumed", { fix });
  return request.body === null ? new Uint8Array() : collect(chunksOf(request.body), maxBodyBytes);
}

/** Not `for await` on the stream itself: not every platform's streams are iterable. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

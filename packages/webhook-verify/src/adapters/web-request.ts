/** Carries deliveries between a Request and the receiver, wherever a handler answers with a Response. */
import type { Answer } from "../answer.ts";
import { collect, RawBodyError, type ReadLimits } from "../raw-body.ts";
import type { Receiver } from "../receiver.ts";

/** Never rejects, also when the platform's request throws: it is read inside the receiver. */
export function receiveRequest(receive: Receiver, request: Request, fix: string): Promise<Answer> {
  return receive({
    get method() {
      return request.method;
    },
    get headers() {
      return request.headers;
    },
    rawBody: (limits) => bodyOf(request, limits, fix),
  });
}

export function responseOf({ status, headers }: Answer): Response {
  return new Response(null, { status, headers });
}

/** Lets the answer leave first. */
export function runAfter(task: () => Promise<void>): Promise<void> {
  return new Promise((resolve) => setTimeout(() => resolve(task()), 0));
}

async function bodyOf(request: Request, limits: ReadLimits, fix: string): Promise<Uint8Array> {
  const consumed = () => new RawBodyError("already-consumed", { fix });
  if (request.bodyUsed) throw consumed();
  if (limits.expectedBytes !== undefined) {
    // A server lets no more through than was announced, and one piece costs a third of what a stream costs.
    try {
      return new Uint8Array(await request.arrayBuffer());
    } catch (cause) {
      throw !request.bodyUsed && request.body?.locked
        ? consumed()
        : new RawBodyError("unreadable", { cause });
    }
  }
  if (request.body?.locked) throw consumed();
  return request.body === null ? new Uint8Array() : collect(chunksOf(request.body), limits, fix);
}

/** Not `for await` on the stream itself: not every platform's streams are iterable. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    // Not awaited: of a cloned body it resolves only when both branches are cancelled.
    reader.cancel().catch(() => {});
  }
}

/** A request as the routes see it, from whichever host. */

export interface HttpRequest {
  method: string;
  /** Absolute. */
  url: URL;
  headers: { get(name: string): string | null };
  /** The body, part by part; empty when there is none. May be left unread. */
  body: AsyncIterable<Uint8Array>;
  /** The caller went away. */
  signal?: AbortSignal;
}

export function fromFetch(request: Request): HttpRequest {
  const { method, headers, signal } = request;
  return { method, url: new URL(request.url), headers, signal, body: partsOf(request) };
}

async function* partsOf(request: Request): AsyncGenerator<Uint8Array> {
  const reader = request.body?.getReader();
  if (reader === undefined) return;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.cancel().catch(() => {}); // not awaited: of a cloned body it resolves only when both are cancelled
  }
}

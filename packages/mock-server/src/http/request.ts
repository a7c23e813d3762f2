/** A request as the routes see it, from whichever host. */

export interface HttpRequest {
  method: string;
  url: URL;
  headers: { get(name: string): string | null };
  /** The whole body; undefined when it is larger than that, and the rest is left unread. @throws when it is cut off. */
  bytes(atMost: number): Promise<Uint8Array | undefined>;
  /** The caller went away. */
  readonly signal: AbortSignal;
}

export function fromFetch(request: Request): HttpRequest {
  const { method, headers, signal } = request;
  return { method, url: new URL(request.url), headers, signal, bytes: (atMost) => bytesOf(request, atMost) };
}

async function bytesOf(request: Request, atMost: number): Promise<Uint8Array | undefined> {
  const reader = request.body?.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    parts.push(part.value);
    length += part.value.byteLength;
    if (length > atMost) {
      reader?.cancel().catch(() => {}); // not awaited: of a cloned body it resolves only when both are cancelled
      return undefined;
    }
  }
  return joined(parts, length);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

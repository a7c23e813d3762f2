/** Reads a body into memory, up to a limit, and decodes it. */

/**
 * One buffer for all chunks of a body. It grows with the bytes that arrive, so a sender that
 * announces a long body and sends little of it takes little memory. A body in one chunk is not
 * copied; with more chunks the buffer doubles, up to the limit.
 */
export class BoundedBuffer {
  readonly #maxBytes: number;
  #buffer: Uint8Array = new Uint8Array();
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns false when the body would be longer than the limit; the chunk is not added then. */
  add(chunk: Uint8Array): boolean {
    const end = this.#length + chunk.byteLength;
    if (end > this.#maxBytes) return false;
    if (this.#length === 0) {
      this.#buffer = chunk;
    } else {
      if (end > this.#buffer.length) {
        const larger = new Uint8Array(
          Math.min(Math.max(end, 2 * this.#buffer.length), this.#maxBytes),
        );
        larger.set(this.#buffer);
        this.#buffer = larger;
      }
      this.#buffer.set(chunk, this.#length);
    }
    this.#length = end;
    return true;
  }

  /**
   * Returns the body. A full buffer is returned as it is, because creating a view takes as long as
   * parsing an event.
   */
  bytes(): Uint8Array {
    return this.#length === this.#buffer.length
      ? this.#buffer
      : this.#buffer.subarray(0, this.#length);
  }
}

/** Decodes UTF-8. Jest's jsdom has no TextDecoder, but it runs on Node.js. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (typeof Buffer === "undefined") return new TextDecoder().decode(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/**
 * Reads all chunks. Stops, and releases the source, as soon as the limit is passed.
 * @returns undefined when the body is longer than `maxBytes`.
 * @throws what the source throws.
 */
export async function readBounded(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const buffer = new BoundedBuffer(maxBytes);
  for await (const chunk of chunks) if (!buffer.add(chunk)) return undefined;
  return buffer.bytes();
}

/**
 * A web stream of bytes. The type is structural, because libraries declare different types of
 * `ReadableStream`.
 */
export interface ByteStream {
  getReader(): { read(): Promise<{ done: boolean; value?: unknown }>; cancel(): Promise<void> };
  cancel(): Promise<void>;
}

/** The chunks of a web stream. Not every runtime can iterate over one. */
export async function* toChunks(
  stream: Pick<ByteStream, "getReader">,
): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      yield part.value as Uint8Array;
  } finally {
    reader.cancel().catch(() => {}); // not awaited: with some sources this promise never settles
  }
}

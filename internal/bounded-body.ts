/** Reads a body into memory, up to a limit. */

const empty = new Uint8Array();

/**
 * One buffer for all chunks of a body. It grows with the bytes that arrive, so a sender that announces a long body and sends
 * little of it takes little memory. A body in one chunk is not copied; with more chunks the buffer doubles, up to the limit.
 */
export class BoundedBuffer {
  readonly #maxBytes: number;
  readonly #expectedBytes: number;
  #buffer: Uint8Array = empty;
  #length = 0;

  /** @param expectedBytes the length that the sender announced: the buffer grows beyond it only when more bytes arrive. */
  constructor(maxBytes: number, expectedBytes = maxBytes) {
    this.#maxBytes = maxBytes;
    this.#expectedBytes = Math.min(expectedBytes, maxBytes);
  }

  /** @returns false when the body would be longer than the limit; the chunk is not added then. */
  add(chunk: Uint8Array): boolean {
    const end = this.#length + chunk.byteLength;
    if (end > this.#maxBytes) return false;
    if (this.#length === 0) {
      this.#buffer = chunk;
    } else {
      if (end > this.#buffer.length) this.#grow(end);
      this.#buffer.set(chunk, this.#length);
    }
    this.#length = end;
    return true;
  }

  /** Returns the body. A full buffer is returned as it is, because creating a view takes as long as parsing an event. */
  bytes(): Uint8Array {
    return this.#length === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  #grow(end: number): void {
    const limit = end > this.#expectedBytes ? this.#maxBytes : this.#expectedBytes;
    const larger = new Uint8Array(Math.min(Math.max(end, 2 * this.#buffer.length), limit));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
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

/** A web stream of bytes. The type is structural, because libraries declare different types of `ReadableStream`. */
export interface ByteStream {
  getReader(): { read(): Promise<{ done: boolean; value?: unknown }>; cancel(): Promise<void> };
  cancel(): Promise<void>;
}

/** The chunks of a web stream. Not every runtime can iterate over one. */
export function toChunks(stream: Pick<ByteStream, "getReader">): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => reader.read() as Promise<IteratorResult<Uint8Array>>,
      return: () => {
        reader.cancel().catch(() => {}); // not awaited: with some sources this promise never settles
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
}

/** Reads a body as the bytes that arrived, never more of them than allowed. */

export type RawBody = Uint8Array | ArrayBuffer | string;

export interface ReadLimits {
  maxBodyBytes: number;
  /** What the request announced. It may be a lie. */
  expectedBytes?: number;
}

export type RawBodyFault = "too-large" | "already-consumed" | "unreadable";

/** Why there are no bytes to verify. `fix` is the one line to change, when the fault is the program's. */
export class RawBodyError extends Error {
  override readonly name = "RawBodyError" as const;
  readonly fault: RawBodyFault;
  readonly fix: string | undefined;

  constructor(fault: RawBodyFault, options: { fix?: string; cause?: unknown } = {}) {
    super(`The request body is ${fault}.`, { cause: options.cause });
    this.fault = fault;
    this.fix = options.fix;
  }
}

const encoder = new TextEncoder();

/** The bytes of a body, or undefined when the value holds none (a parsed object, say). Copies only strings. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return encoder.encode(value);
  // Not only instanceof: a buffer made in another realm (a vm, a test runner's sandbox) is a buffer too.
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isBuffer = Object.prototype.toString.call(value).endsWith("ArrayBuffer]"); // Shared or not
  return isBuffer ? new Uint8Array(value as ArrayBuffer) : undefined;
}

/** @throws {TypeError} for a body that somebody parsed: what was received cannot be made again from it. */
export function checkedBody(rawBody: RawBody): Uint8Array {
  const body = bytesOf(rawBody);
  if (body !== undefined) return body;
  throw new TypeError("rawBody must be what arrived, not a parsed body.");
}

/** The bytes of a body that a platform put into base64. @throws {RawBodyError} `too-large` before it decodes, or `unreadable`. */
export function fromBase64(text: string, maxBytes: number): Uint8Array {
  if (text.length > 4 * Math.ceil(maxBytes / 3)) throw new RawBodyError("too-large");
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new RawBodyError("unreadable", { cause });
  }
}

/** Without an announcement: more than almost every delivery needs. */
const firstBytes = 16_384;

/** One buffer for all chunks of a body, which never costs more than the limit and a little. */
export function bodyBuffer({ maxBodyBytes, expectedBytes = firstBytes }: ReadLimits, fix: string) {
  const firstLength = Math.min(maxBodyBytes, expectedBytes);
  let buffer: Uint8Array | undefined;
  let length = 0;
  return {
    /** @throws {RawBodyError} `too-large` as soon as the limit is passed; `already-consumed` where somebody set an encoding. */
    add(chunk: unknown): void {
      if (!ArrayBuffer.isView(chunk)) throw new RawBodyError("already-consumed", { fix });
      const end = length + chunk.byteLength;
      if (end > maxBodyBytes) throw new RawBodyError("too-large");
      const bytes = bytesOf(chunk) as Uint8Array;
      if (length === 0 && end === expectedBytes) {
        buffer = bytes; // all of it in one piece, as nearly always
      } else {
        buffer ??= new Uint8Array(firstLength);
        // At once to the limit: doubling would hold both halves. Memory that is not written to costs nothing yet.
        if (end > buffer.length) buffer = grown(buffer, maxBodyBytes);
        buffer.set(bytes, length);
      }
      length = end;
    },
    /** The buffer itself when it is full: a view of it would cost as much as parsing the event. */
    bytes(): Uint8Array {
      buffer ??= new Uint8Array();
      return length === buffer.length ? buffer : buffer.subarray(0, length);
    },
  };
}

/** Collects the chunks of a stream. @throws {RawBodyError} as `add` does, or `unreadable`. */
export async function collect(
  chunks: AsyncIterable<unknown>,
  limits: ReadLimits,
  fix: string,
): Promise<Uint8Array> {
  const body = bodyBuffer(limits, fix);
  try {
    for await (const chunk of chunks) body.add(chunk);
  } catch (cause) {
    throw cause instanceof RawBodyError ? cause : new RawBodyError("unreadable", { cause });
  }
  return body.bytes();
}

function grown(buffer: Uint8Array, byteLength: number): Uint8Array {
  const larger = new Uint8Array(byteLength);
  larger.set(buffer);
  return larger;
}

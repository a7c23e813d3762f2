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
  const isBuffer = /^\[object (Shared)?ArrayBuffer]$/.test(Object.prototype.toString.call(value));
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

/**
 * Collects the chunks of a stream into one buffer, which never costs more than the limit and a little.
 * @throws {RawBodyError} `too-large` as soon as the limit is passed, or `unreadable`.
 */
export async function collect(
  chunks: AsyncIterable<unknown>,
  { maxBodyBytes, expectedBytes = firstBytes }: ReadLimits,
  fix: string,
): Promise<Uint8Array> {
  let buffer = new Uint8Array(Math.min(maxBodyBytes, expectedBytes));
  let length = 0;
  try {
    for await (const chunk of chunks) {
      if (!ArrayBuffer.isView(chunk)) throw new RawBodyError("already-consumed", { fix }); // somebody set an encoding
      const end = length + chunk.byteLength;
      if (end > maxBodyBytes) throw new RawBodyError("too-large");
      if (end > buffer.byteLength) buffer = grown(buffer.subarray(0, length), maxBodyBytes);
      buffer.set(bytesOf(chunk) as Uint8Array, length);
      length = end;
    }
  } catch (cause) {
    throw cause instanceof RawBodyError ? cause : new RawBodyError("unreadable", { cause });
  }
  return buffer.subarray(0, length);
}

/** At once to the limit: doubling would hold both halves. Memory that is not written to costs nothing yet. */
function grown(buffer: Uint8Array<ArrayBuffer>, byteLength: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(byteLength);
  larger.set(buffer);
  return larger;
}

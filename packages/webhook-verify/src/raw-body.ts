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

/**
 * One buffer for all chunks of a body. It follows what arrived, not what was announced: a sender that announces much and
 * sends little costs little. A body in one chunk is not copied; for more chunks the buffer doubles, up to the limit.
 */
export function bodyBuffer({ maxBodyBytes, expectedBytes = maxBodyBytes }: ReadLimits, fix: string) {
  let buffer = new Uint8Array();
  let length = 0;
  return {
    /** @throws {RawBodyError} `too-large` as soon as the limit is passed; `already-consumed` where somebody set an encoding. */
    add(chunk: unknown): void {
      if (!ArrayBuffer.isView(chunk)) throw new RawBodyError("already-consumed", { fix });
      const end = length + chunk.byteLength;
      if (end > maxBodyBytes) throw new RawBodyError("too-large");
      const bytes = bytesOf(chunk) as Uint8Array<ArrayBuffer>;
      if (length === 0) {
        buffer = bytes;
      } else {
        if (end > buffer.length) {
          const most = end > expectedBytes ? maxBodyBytes : Math.min(expectedBytes, maxBodyBytes);
          buffer = grown(buffer, Math.min(Math.max(end, 2 * buffer.length), most));
        }
        buffer.set(bytes, length);
      }
      length = end;
    },
    /** The buffer itself when it is full: a view of it would cost as much as parsing the event. */
    bytes(): Uint8Array {
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

function grown(buffer: Uint8Array, byteLength: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(byteLength);
  larger.set(buffer);
  return larger;
}

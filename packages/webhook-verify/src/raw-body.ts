/** Reads a body as the bytes that arrived, never more of them than allowed. */

export type RawBody = Uint8Array | ArrayBuffer | string;

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

/** The bytes of a body, or undefined when the value holds none (a parsed object, say). Copies only strings. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === "string") return new TextEncoder().encode(value);
  // Not instanceof: a buffer made in another realm (a vm, a test runner's sandbox) is a buffer too.
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const tag = Object.prototype.toString.call(value);
  if (tag === "[object ArrayBuffer]" || tag === "[object SharedArrayBuffer]") {
    return new Uint8Array(value as ArrayBuffer);
  }
  return undefined;
}

/** @throws {TypeError} for a body that somebody parsed: what was received cannot be made again from it. */
export function checkedBody(rawBody: RawBody): Uint8Array {
  const body = bytesOf(rawBody);
  if (body !== undefined) return body;
  throw new TypeError("rawBody must be the bytes or the text that arrived, not a parsed body.");
}

/** Collects the chunks of a stream. @throws {RawBodyError} `too-large` as soon as `maxBytes` is passed, or `unreadable`. */
export async function collect(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of chunks) {
      length += chunk.byteLength;
      if (length > maxBytes) throw new RawBodyError("too-large");
      parts.push(chunk);
    }
  } catch (cause) {
    throw cause instanceof RawBodyError ? cause : new RawBodyError("unreadable", { cause });
  }
  return joined(parts, length);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.byteLength;
  }
  return whole;
}

/** Reads the body and the headers of a request: the bytes as they arrived, at most as many as allowed. */
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";

/** A body as it arrived. @inline */
export type RawBody = Uint8Array | ArrayBuffer | string;

export interface ReadLimits {
  maxBodyBytes: number;
  /** The request's Content-Length. It may be wrong. */
  expectedBytes?: number | undefined;
}

/** Thrown when there are no bytes to verify. */
export class RawBodyError extends Error {
  override readonly name = "RawBodyError" as const;
  readonly reason: "too-large" | "already-consumed" | "unreadable";

  constructor(reason: RawBodyError["reason"], options?: ErrorOptions) {
    super(`The request body is ${reason}.`, options);
    this.reason = reason;
  }
}

/** The parts of node:buffer that are used. */
interface NodeBuffer {
  Buffer: {
    from(text: string): Uint8Array;
    from(bytes: ArrayBufferLike, at: number, length: number): Uint8Array;
  };
  isUtf8(bytes: Uint8Array): boolean;
}

// Loaded on first use: Jest with jsdom has neither TextEncoder nor TextDecoder, and other runtimes have no node:buffer.
let nodeBuffer: NodeBuffer | undefined;
let decoder: { decode(bytes: Uint8Array): string } | undefined;

/** Decodes bytes, without a byte order mark. @throws {TypeError} when they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (typeof TextDecoder !== "undefined") {
    decoder ??= new TextDecoder("utf-8", { fatal: true });
    return decoder.decode(bytes);
  }
  nodeBuffer ??= getBuiltinModule("node:buffer") as NodeBuffer;
  if (!nodeBuffer.isUtf8(bytes)) throw new TypeError("The bytes are not UTF-8.");
  const text = nodeBuffer.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return String(text).replace(/^\uFEFF/, "");
}

/** Returns the bytes of a string or buffer, or undefined for other values, such as a parsed object. Copies strings only. */
export function toBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") {
    nodeBuffer ??= getBuiltinModule("node:buffer") as NodeBuffer | undefined;
    return nodeBuffer?.Buffer.from(value) ?? new TextEncoder().encode(value);
  }
  // `instanceof` alone would miss buffers of another realm (a vm, the sandbox of a test runner).
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isBuffer = Object.prototype.toString.call(value).endsWith("ArrayBuffer]"); // SharedArrayBuffer too
  return isBuffer ? new Uint8Array(value as ArrayBuffer) : undefined;
}

/**
 * Returns the body as bytes or text, without a copy. UTF-8 cannot encode half of a surrogate pair, so it is
 * replaced in text: the text that is parsed is then the text that was signed.
 * @throws {TypeError} for a parsed body: the received bytes cannot be restored from it.
 */
export function toBody(rawBody: RawBody): Uint8Array | string {
  const body = typeof rawBody === "string" ? rawBody.toWellFormed() : toBytes(rawBody);
  if (body !== undefined) return body;
  throw new TypeError(
    "rawBody must be the bytes that arrived (Uint8Array, ArrayBuffer or string), not a parsed body.",
  );
}

/** Decodes the base64 body of a platform event. @throws {RawBodyError} `too-large` (before decoding) or `unreadable`. */
export function decodeBase64(text: string, maxBytes: number): Uint8Array {
  if (text.length > 4 * Math.ceil(maxBytes / 3)) throw new RawBodyError("too-large");
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch (cause) {
    throw new RawBodyError("unreadable", { cause });
  }
}

/** Adds a chunk of a body. @throws {RawBodyError} `too-large`; `already-consumed` for a string: somebody called `setEncoding`, so the bytes are lost. */
export function addChunk(buffer: BoundedBuffer, chunk: unknown): void {
  if (!ArrayBuffer.isView(chunk)) throw new RawBodyError("already-consumed");
  if (!buffer.add(toBytes(chunk) as Uint8Array)) throw new RawBodyError("too-large");
}

/** Collects the chunks of a stream. @throws {RawBodyError} as {@link addChunk} does, or `unreadable`. */
export async function collectBody(chunks: AsyncIterable<unknown>, limits: ReadLimits): Promise<Uint8Array> {
  const buffer = new BoundedBuffer(limits.maxBodyBytes);
  try {
    for await (const chunk of chunks) addChunk(buffer, chunk);
  } catch (cause) {
    throw cause instanceof RawBodyError ? cause : new RawBodyError("unreadable", { cause });
  }
  return buffer.bytes();
}

/** Headers in the form of any framework: a `Headers` object, or a record. @inline */
export type HeadersLike =
  | { get(name: string): string | readonly string[] | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The value of a header. The lines of a repeated header are joined, as in `Headers`: two signatures are malformed then. */
export function getHeader(headers: HeadersLike, lowerCaseName: string): string | undefined {
  let value: string | readonly string[] | null | undefined;
  if (typeof headers.get === "function") value = headers.get(lowerCaseName);
  else {
    const lines = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
    const name = Object.hasOwn(lines, lowerCaseName)
      ? lowerCaseName
      : Object.keys(lines).find((key) => key.toLowerCase() === lowerCaseName);
    value = name === undefined ? undefined : lines[name];
  }
  return (typeof value === "object" ? value?.join(", ") : value) ?? undefined;
}

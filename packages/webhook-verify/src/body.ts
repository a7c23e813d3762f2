/**
 * Reads the body and the headers of a request: the bytes as they arrived, at most as many as
 * allowed.
 */
import { BoundedBuffer } from "@loyalty-cards/internal/bounded-body";
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import { formatType } from "@loyalty-cards/internal/format";
import type { Result } from "@loyalty-cards/internal/result";

/** A body as it arrived. @inline */
export type RawBody = Uint8Array | ArrayBuffer | string;

/** Headers in the form of any framework: a `Headers` object, or a record. @inline */
export type HeadersLike = { get(name: string): string | readonly string[] | null } | HeaderRecord;

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The parts of a request that a receiver needs before it reads the body. */
export interface RequestHead {
  method: string;
  headers: HeadersLike;
}

/** The parts of a request that a receiver needs. */
export interface ReceivedRequest extends RequestHead {
  /**
   * The bytes that arrived, or a function that reads them; it is called only when the header is
   * valid.
   */
  rawBody: RawBody | ((limits: ReadLimits) => RawBody | Promise<RawBody>);
}

export interface ReadLimits {
  maxBodyBytes: number;
  /** The request's Content-Length. It may be wrong. */
  expectedBytes?: number | undefined;
}

/** Why there are no bytes to verify. */
interface BodyFailure {
  reason: "too-large" | "already-consumed" | "unreadable";
}

export type BodyResult = Result<Uint8Array, BodyFailure>;

/** Reads the body of a request in one framework. */
export type BodyReader = (limits: ReadLimits) => BodyResult | Promise<BodyResult>;

/** Reads the body. When the reader throws, something else has taken the bytes. */
export async function readBody(reader: BodyReader, limits: ReadLimits): Promise<BodyResult> {
  try {
    const body = await reader(limits);
    if (body.failure !== undefined || body.value.byteLength <= limits.maxBodyBytes) return body;
    return { failure: { reason: "too-large" } };
  } catch {
    return { failure: { reason: "already-consumed" } };
  }
}

/** The {@link BodyReader} of a receiver without a framework. */
export async function readRawBody(
  { rawBody }: ReceivedRequest,
  limits: ReadLimits,
): Promise<BodyResult> {
  const body: unknown = typeof rawBody === "function" ? await rawBody(limits) : rawBody;
  const value = toBytes(body);
  return value === undefined ? { failure: { reason: "already-consumed" } } : { value };
}

/** The parts of node:buffer that are used. */
interface NodeBuffer {
  Buffer: {
    from(text: string): Uint8Array;
    from(bytes: ArrayBufferLike, at: number, length: number): Uint8Array;
  };
  isUtf8(bytes: Uint8Array): boolean;
}

// Loaded on first use: Jest with jsdom has neither TextEncoder nor TextDecoder, and other runtimes
// have no node:buffer.
let nodeBuffer: NodeBuffer | undefined;
let decoder: { decode(bytes: Uint8Array): string } | undefined;

/**
 * Decodes UTF-8, without a byte order mark.
 * @throws {TypeError} when they are not UTF-8.
 */
export function decodeStrictly(bytes: Uint8Array): string {
  if (typeof TextDecoder !== "undefined") {
    decoder ??= new TextDecoder("utf-8", { fatal: true });
    return decoder.decode(bytes);
  }
  nodeBuffer ??= getBuiltinModule("node:buffer") as NodeBuffer;
  if (!nodeBuffer.isUtf8(bytes)) throw new TypeError("The bytes are not UTF-8.");
  const text = nodeBuffer.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return String(text).replace(/^\uFEFF/, "");
}

/**
 * Returns the bytes of a string or buffer, or undefined for other values, such as a parsed object.
 * Copies strings only.
 */
export function toBytes(value: RawBody | ArrayBufferView): Uint8Array;
export function toBytes(value: unknown): Uint8Array | undefined;
export function toBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") {
    nodeBuffer ??= getBuiltinModule("node:buffer") as NodeBuffer | undefined;
    return nodeBuffer?.Buffer.from(value) ?? new TextEncoder().encode(value);
  }
  // `instanceof` alone would miss buffers of another realm (a vm, the sandbox of a test runner).
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const isBuffer = Object.prototype.toString.call(value).endsWith("ArrayBuffer]"); // SharedArrayBuffer too
  return isBuffer ? new Uint8Array(value as ArrayBuffer) : undefined;
}

/**
 * Returns the bytes of a body. Half of a surrogate pair in text is replaced, because UTF-8 cannot
 * encode it.
 * @throws {TypeError} for a parsed body: the received bytes cannot be restored from it.
 */
export function toBody(rawBody: RawBody): Uint8Array {
  const bytes = toBytes(rawBody as unknown);
  if (bytes !== undefined) return bytes;
  throw new TypeError(
    `rawBody must be the bytes that arrived (Uint8Array, ArrayBuffer or string), not a parsed body; it is ${formatType(rawBody)}.`,
  );
}

/** Decodes the base64 body of a platform event. It checks the size first. */
export function decodeBase64(text: string, maxBytes: number): BodyResult {
  if (text.length > 4 * Math.ceil(maxBytes / 3)) return { failure: { reason: "too-large" } };
  try {
    const characters = atob(text);
    const value = new Uint8Array(characters.length);
    // With Uint8Array.from, 1 MiB of a forged delivery takes half a second.
    for (let at = 0; at < value.length; at++) value[at] = characters.charCodeAt(at);
    return { value };
  } catch {
    return { failure: { reason: "unreadable" } };
  }
}

/**
 * Adds a chunk of a body. A chunk of text means that somebody called `setEncoding`: the bytes are
 * lost.
 */
export function addChunk(buffer: BoundedBuffer, chunk: unknown): Result<undefined, BodyFailure> {
  if (!ArrayBuffer.isView(chunk)) return { failure: { reason: "already-consumed" } };
  const isAdded = buffer.add(toBytes(chunk));
  return isAdded ? { value: undefined } : { failure: { reason: "too-large" } };
}

/** Collects the chunks of a stream. */
export async function collectBody(
  chunks: AsyncIterable<unknown>,
  { maxBodyBytes }: ReadLimits,
): Promise<BodyResult> {
  const buffer = new BoundedBuffer(maxBodyBytes);
  try {
    for await (const chunk of chunks) {
      const added = addChunk(buffer, chunk);
      if (added.failure !== undefined) return added;
    }
  } catch {
    return { failure: { reason: "unreadable" } };
  }
  return { value: buffer.bytes() };
}

/**
 * The value of a header. The lines of a repeated header are joined, as in `Headers`: two signatures
 * are malformed then.
 */
export function getHeader(headers: HeadersLike, lowerCaseName: string): string | undefined {
  const value =
    typeof headers.get === "function"
      ? headers.get(lowerCaseName)
      : findValue(headers as HeaderRecord, lowerCaseName);
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? value.join(", ") : value;
}

function findValue(headers: HeaderRecord, lowerCaseName: string): HeaderRecord[string] {
  // Node.js has lower-case names: without this line a delivery takes a third longer.
  if (Object.hasOwn(headers, lowerCaseName)) return headers[lowerCaseName];
  const header = Object.entries(headers).find(([name]) => name.toLowerCase() === lowerCaseName);
  return header?.[1];
}

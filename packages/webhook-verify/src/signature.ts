/**
 * The `Service-Signature` header (spec 5.5 to 5.7): its form and its age, and the HMAC-SHA256 over
 * `<t>.<raw body>` with each key that has not expired, by node:crypto where it exists, otherwise by
 * WebCrypto.
 */
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import type { Result } from "@loyalty-cards/internal/result";
import { toBytes } from "./body.ts";
import type { Rejection, VerificationErrorReason } from "./reasons.ts";

/** A well-formed header within the tolerance. */
interface FreshHeader {
  /** `t` exactly as received: it is part of the signed text. */
  timestamp: string;
  /** One to five signatures of 64 lower-case hex digits; one of them has to match. */
  signatures: readonly string[];
  /** The current time minus `t`, in whole seconds; negative when the sender's clock is ahead. */
  skewSeconds: number;
}

/** Checks the form and the age of the header, for which the body need not be read. */
export function checkHeader(
  signature: unknown,
  nowMs: number,
  toleranceSeconds: number,
): Result<FreshHeader, Rejection<VerificationErrorReason>> {
  const line: unknown = Array.isArray(signature) && signature.length < 2 ? signature[0] : signature;
  if (line === undefined || line === null || line === "")
    return { failure: { reason: "missing-signature" } };
  const header = typeof line === "string" ? parseHeader(line) : undefined;
  if (header === undefined) return { failure: { reason: "malformed-signature" } };
  const skewSeconds = Math.floor(nowMs / 1000) - Number(header.timestamp);
  if (skewSeconds > toleranceSeconds) return { failure: { reason: "stale", skewSeconds } };
  if (skewSeconds < -toleranceSeconds) return { failure: { reason: "future", skewSeconds } };
  // With a spread a delivery takes a sixth longer.
  return { value: { timestamp: header.timestamp, signatures: header.signatures, skewSeconds } };
}

const maxHeaderLength = 1024;
const maxSignatures = 5;
const timestampPattern = /^\d{1,12}$/;
/** SHA-256 in hex: what the name `v1` means (spec 9). */
const signaturePattern = /^[\da-f]{64}$/;

/**
 * Parses `t=<unix seconds>,v1=<hex>`. Pairs with other names are ignored; a second `t` is rejected.
 */
function parseHeader(line: string): Omit<FreshHeader, "skewSeconds"> | undefined {
  if (line.length > maxHeaderLength) return undefined;
  const timestamps: string[] = [];
  const signatures: string[] = [];
  for (const pair of line.split(/,[ \t]*/)) {
    const equals = pair.indexOf("=");
    if (equals < 1) return undefined;
    const name = pair.slice(0, equals);
    const value = pair.slice(equals + 1);
    if (name === "t") timestamps.push(value);
    if (name === "v1") signatures.push(value.toLowerCase());
  }
  const [timestamp = "", ...others] = timestamps;
  if (!timestampPattern.test(timestamp) || others.length > 0) return undefined;
  if (signatures.length < 1 || signatures.length > maxSignatures) return undefined;
  const areHex = signatures.every((signature) => signaturePattern.test(signature));
  return areHex ? { timestamp, signatures } : undefined;
}

/**
 * Whether a clock returned a time, in the range of a Date. With NaN no delivery would be stale:
 * every comparison with it is false.
 */
export const isTimeMs = (ms: unknown): ms is number =>
  typeof ms === "number" && Math.abs(ms) <= 8.64e15;

/** Whether a time is that of `Date.now() / 1000`: as milliseconds it would be in 1970. */
const isSeconds = (time: number) => time >= 1e9 && time < 1e10;

/** @throws {TypeError} for a `now` that is not a function, or does not return milliseconds. */
export function readClock(now: () => number): number {
  if (typeof now !== "function") {
    throw new TypeError("now must be a function that returns milliseconds, such as Date.now.");
  }
  const ms: unknown = now();
  if (isTimeMs(ms) && !isSeconds(ms)) return ms;
  const returned =
    ms === null || typeof ms === "number" ? String(ms) : `a value of type ${typeof ms}`;
  throw new TypeError(
    `now must return milliseconds as a number, as Date.now does; it returned ${returned}. For a Date write () => date.getTime().`,
  );
}

/** One day. The retries of the service take less; milliseconds are more. */
const maxToleranceSeconds = 86_400;

/**
 * @throws {TypeError} for a tolerance that would disable the check. The default is that of spec 8.
 */
export function parseTolerance(toleranceSeconds = 300): number {
  const isNumber = Number.isFinite(toleranceSeconds);
  if (isNumber && toleranceSeconds >= 0 && toleranceSeconds <= maxToleranceSeconds)
    return toleranceSeconds;
  throw new TypeError(
    `toleranceSeconds must be a finite number of seconds from 0 to ${maxToleranceSeconds}, not ${toleranceSeconds}.`,
  );
}

/**
 * The parts of node:crypto that are used; structural, because only files for Node import from it.
 */
interface NodeCrypto {
  createSecretKey(key: Uint8Array): object;
  createHmac(algorithm: "sha256", key: object): NodeHmac;
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
}
interface NodeHmac {
  update(data: string | Uint8Array): NodeHmac;
  digest(encoding: "hex"): string;
}

/** A validated secret. */
export interface SigningKey {
  readonly bytes: Uint8Array;
  /**
   * A `KeyObject`: with bytes, Node 24 takes five times as long. Undefined where node:crypto does
   * not exist.
   */
  readonly nodeKey: object | undefined;
  readonly id: string | undefined;
  /** Infinity for a secret that does not expire. */
  readonly notAfterMs: number;
}

/** A body whose signature is to be verified. Its header is valid. */
export interface UnverifiedBody {
  header: FreshHeader;
  body: Uint8Array;
  nowMs: number;
}

let nodeCrypto: NodeCrypto | undefined;

/**
 * Loads node:crypto on first use, so that no bundler has to resolve it. Returns undefined in
 * runtimes without it.
 */
export function getNodeCrypto(): NodeCrypto | undefined {
  nodeCrypto ??= getBuiltinModule("node:crypto") as NodeCrypto | undefined;
  return nodeCrypto;
}

/**
 * @throws {TypeError} in runtimes without node:crypto; the message names the asynchronous function.
 */
export function requireNodeCrypto(asyncFunction: string): NodeCrypto {
  const crypto = getNodeCrypto();
  if (crypto !== undefined) return crypto;
  throw new TypeError(
    `This runtime has no node:crypto. Use ${asyncFunction}, which works with WebCrypto.`,
  );
}

/** Returns the signature in lower-case hex. */
export function signWithNode(
  crypto: NodeCrypto,
  key: SigningKey,
  timestamp: string,
  body: Uint8Array,
): string {
  const hmac = crypto.createHmac("sha256", key.nodeKey as object);
  return hmac.update(`${timestamp}.`).update(body).digest("hex");
}

/**
 * Returns the key that made one of the signatures. Tries all keys and all signatures, each in
 * constant time.
 */
export function findKeyWithNode(
  crypto: NodeCrypto,
  { header, body, nowMs }: UnverifiedBody,
  keys: readonly SigningKey[],
): SigningKey | undefined {
  let matching: SigningKey | undefined;
  for (const key of keys) {
    if (nowMs > key.notAfterMs) continue;
    const expected = toBytes(signWithNode(crypto, key, header.timestamp, body));
    for (const signature of header.signatures)
      if (crypto.timingSafeEqual(expected, toBytes(signature))) matching ??= key;
  }
  return matching;
}

type Bytes = Uint8Array<ArrayBuffer>;

const algorithm = { name: "HMAC", hash: "SHA-256" };

/** {@link signWithNode} in every runtime. */
export async function signWithWebCrypto(
  key: SigningKey,
  timestamp: string,
  body: Uint8Array,
): Promise<string> {
  const webKey = await importKey(key, "sign");
  const bytes = await crypto.subtle.sign(algorithm, webKey, joinText(timestamp, body));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** {@link findKeyWithNode} in every runtime. */
export async function findKeyWithWebCrypto(
  { header, body, nowMs }: UnverifiedBody,
  keys: readonly SigningKey[],
): Promise<SigningKey | undefined> {
  const text = joinText(header.timestamp, body);
  let matching: SigningKey | undefined;
  for (const key of keys) {
    if (nowMs > key.notAfterMs) continue;
    const webKey = await importKey(key, "verify");
    for (const signature of header.signatures)
      if (await crypto.subtle.verify(algorithm, webKey, parseHex(signature), text))
        matching ??= key;
  }
  return matching;
}

const importKey = ({ bytes }: SigningKey, usage: "sign" | "verify") =>
  crypto.subtle.importKey("raw", bytes as Bytes, algorithm, false, [usage]);

function joinText(timestamp: string, body: Uint8Array): Bytes {
  const prefix = toBytes(`${timestamp}.`);
  const text = new Uint8Array(prefix.length + body.length);
  text.set(prefix);
  text.set(body, prefix.length);
  return text;
}

const parseHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

/** HMAC-SHA256 over `<t>.<raw body>` (spec 5.6) with each key that has not expired: with node:crypto where it exists, otherwise with WebCrypto. */
import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import { toHex } from "@loyalty-cards/internal/format";
import { toBytes } from "./body.ts";

/** The parts of node:crypto that are used; structural, because only files for Node import from it. */
interface NodeCrypto {
  createSecretKey(key: Uint8Array): object;
  createHmac(algorithm: "sha256", key: object): NodeHmac;
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
}
interface NodeHmac {
  update(data: string | Uint8Array): NodeHmac;
  digest(encoding: "hex"): string;
}

type Body = Uint8Array | string;

/** A validated secret. */
export interface SigningKey {
  readonly bytes: Uint8Array;
  /** A `KeyObject`: with bytes, Node 24 takes five times as long. Undefined where node:crypto does not exist. */
  readonly nodeKey: object | undefined;
  readonly id: string | undefined;
  /** Infinity for a secret that does not expire. */
  readonly notAfterMs: number;
}

/** A well-formed header within the tolerance. */
export interface FreshHeader {
  /** `t` exactly as received: it is part of the signed text. */
  timestamp: string;
  /** One to five signatures of 64 lower-case hex digits; one of them has to match. */
  signatures: readonly string[];
  /** The current time minus `t`, in whole seconds; negative when the sender's clock is ahead. */
  skewSeconds: number;
}

/** A delivery whose signature is to be verified. */
export interface SignedBody {
  header: FreshHeader;
  body: Body;
  keys: readonly SigningKey[];
  nowMs: number;
}

let nodeCrypto: NodeCrypto | undefined;

/** Loads node:crypto on first use, so that no bundler has to resolve it. Returns undefined in runtimes without it. */
export function getNodeCrypto(): NodeCrypto | undefined {
  nodeCrypto ??= getBuiltinModule("node:crypto") as NodeCrypto | undefined;
  return nodeCrypto;
}

/** @throws {TypeError} in runtimes without node:crypto; the message names the asynchronous function. */
export function requireNodeCrypto(asyncFunction: string): NodeCrypto {
  const crypto = getNodeCrypto();
  if (crypto !== undefined) return crypto;
  throw new TypeError(`This runtime has no node:crypto. Use ${asyncFunction}, which works with WebCrypto.`);
}

/** The signature in lower-case hex. */
export function signWithNode(crypto: NodeCrypto, key: SigningKey, timestamp: string, body: Body): string {
  const hmac = crypto.createHmac("sha256", key.nodeKey as object);
  return hmac.update(`${timestamp}.`).update(body).digest("hex");
}

/** The key that made one of the signatures. Tries all keys and all signatures, each in constant time. */
export function findKeyWithNode(crypto: NodeCrypto, signed: SignedBody): SigningKey | undefined {
  const { header, body, keys, nowMs } = signed;
  let matching: SigningKey | undefined;
  for (const key of keys) {
    if (nowMs > key.notAfterMs) continue;
    const expected = toBytes(signWithNode(crypto, key, header.timestamp, body)) as Uint8Array;
    for (const signature of header.signatures)
      if (crypto.timingSafeEqual(expected, toBytes(signature) as Uint8Array)) matching ??= key;
  }
  return matching;
}

type Bytes = Uint8Array<ArrayBuffer>;

const algorithm = { name: "HMAC", hash: "SHA-256" };

/** {@link signWithNode} in every runtime. */
export async function signWithWebCrypto(key: SigningKey, timestamp: string, body: Body): Promise<string> {
  const webKey = await importKey(key, "sign");
  return toHex(new Uint8Array(await crypto.subtle.sign(algorithm, webKey, joinText(timestamp, body))));
}

/** {@link findKeyWithNode} in every runtime. */
export async function findKeyWithWebCrypto(signed: SignedBody): Promise<SigningKey | undefined> {
  const { header, body, keys, nowMs } = signed;
  const text = joinText(header.timestamp, body);
  let matching: SigningKey | undefined;
  for (const key of keys) {
    if (nowMs > key.notAfterMs) continue;
    const webKey = await importKey(key, "verify");
    for (const signature of header.signatures)
      if (await crypto.subtle.verify(algorithm, webKey, parseHex(signature), text)) matching ??= key;
  }
  return matching;
}

const importKey = ({ bytes }: SigningKey, usage: "sign" | "verify") =>
  crypto.subtle.importKey("raw", bytes as Bytes, algorithm, false, [usage]);

function joinText(timestamp: string, body: Body): Bytes {
  const [prefix, rest] = [toBytes(`${timestamp}.`) as Bytes, toBytes(body) as Bytes];
  const text = new Uint8Array(prefix.length + rest.length);
  text.set(prefix);
  text.set(rest, prefix.length);
  return text;
}

const parseHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

/** HMAC-SHA256 over `<t>.<raw body>` (spec 5.6) with node:crypto where it exists, otherwise with WebCrypto. */

import { getBuiltinModule } from "@loyalty-cards/internal/builtin-module";
import { toHex } from "@loyalty-cards/internal/format";
import { toBytes } from "./body.ts";
import type { SigningKey } from "./secrets.ts";
import type { SignatureHeader } from "./signature.ts";

/** The synchronous engine. */
export interface HmacEngine {
  /** The signature in lower-case hex. */
  sign(key: SigningKey, timestamp: string, body: Uint8Array | string): string;
  /** Whether a signature of the header matches. Compares all of them, each in constant time. */
  verify(key: SigningKey, header: SignatureHeader, body: Uint8Array | string): boolean;
}

/** The parts of node:crypto that are used; structural, because only files for Node import from it. */
interface NodeCrypto {
  createSecretKey(key: string, encoding: "utf8"): object;
  createHmac(algorithm: "sha256", key: object): NodeHmac;
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
}
interface NodeHmac {
  update(data: string | Uint8Array): NodeHmac;
  digest(encoding: "hex" | "binary"): string;
}
interface NodeBuffer {
  Buffer: { alloc(size: number): Uint8Array & { write(text: string, encoding: "hex" | "binary"): number } };
}

let nodeEngine: HmacEngine | undefined;

/** Returns undefined in runtimes without node:crypto. Loads it on first use, because that takes milliseconds. */
export function getNodeEngine(): HmacEngine | undefined {
  nodeEngine ??= createNodeEngine(getBuiltinModule("node:crypto") as NodeCrypto | undefined);
  return nodeEngine;
}

/** @throws {TypeError} in runtimes without node:crypto; the message names the asynchronous function. */
export function getSyncEngine(asyncFunction: string): HmacEngine {
  const engine = getNodeEngine();
  if (engine !== undefined) return engine;
  throw new TypeError(`This runtime has no node:crypto. Use ${asyncFunction}, which works with WebCrypto.`);
}

function createNodeEngine(nodeCrypto: NodeCrypto | undefined): HmacEngine | undefined {
  if (nodeCrypto === undefined) return undefined;
  const { createHmac, createSecretKey, timingSafeEqual } = nodeCrypto;
  const { Buffer } = getBuiltinModule("node:buffer") as NodeBuffer;
  // Safe to share: used synchronously.
  const expected = Buffer.alloc(32);
  const received = Buffer.alloc(32);
  const createSignature = (key: SigningKey, timestamp: string, body: Uint8Array | string) => {
    key.nodeKey ??= createSecretKey(key.key as string, "utf8");
    return createHmac("sha256", key.nodeKey as object)
      .update(`${timestamp}.`)
      .update(body);
  };
  return {
    sign: (key, timestamp, body) => createSignature(key, timestamp, body).digest("hex"),
    verify(key, { timestamp, signatures }, body) {
      expected.write(createSignature(key, timestamp, body).digest("binary"), "binary");
      let hasMatch = false;
      for (const signature of signatures) {
        received.write(signature, "hex");
        if (timingSafeEqual(expected, received)) hasMatch = true;
      }
      return hasMatch;
    },
  };
}

type Bytes = Uint8Array<ArrayBuffer>;
type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const algorithm = { name: "HMAC", hash: "SHA-256" };

export async function signWithWebCrypto(
  key: SigningKey,
  timestamp: string,
  body: Uint8Array | string,
): Promise<string> {
  const text = toSignedText(timestamp, body);
  const signature = new Uint8Array(await crypto.subtle.sign(algorithm, await importKey(key), text));
  return toHex(signature);
}

/** Does what {@link HmacEngine.verify} does. The runtime compares in constant time. */
export async function verifyWithWebCrypto(
  key: SigningKey,
  { timestamp, signatures }: SignatureHeader,
  body: Uint8Array | string,
): Promise<boolean> {
  const text = toSignedText(timestamp, body);
  const webKey = await importKey(key);
  let hasMatch = false;
  for (const signature of signatures) {
    if (await crypto.subtle.verify(algorithm, webKey, decodeHex(signature), text)) hasMatch = true;
  }
  return hasMatch;
}

function importKey(key: SigningKey): Promise<WebKey> {
  key.webKey ??= crypto.subtle.importKey("raw", toBytes(key.key) as Bytes, algorithm, false, [
    "sign",
    "verify",
  ]);
  return key.webKey as Promise<WebKey>;
}

function toSignedText(timestamp: string, body: Uint8Array | string): Bytes {
  if (typeof body === "string") return toBytes(`${timestamp}.${body}`) as Bytes;
  const prefix = toBytes(`${timestamp}.`) as Uint8Array;
  const text = new Uint8Array(prefix.length + body.length);
  text.set(prefix);
  text.set(body, prefix.length);
  return text;
}

function decodeHex(hex: string): Bytes {
  const bytes = new Uint8Array(32);
  for (let i = 0; i < 32; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

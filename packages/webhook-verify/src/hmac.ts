/** HMAC-SHA256 over `<t>.<raw body>` (spec 5.6), by node:crypto where it exists and by WebCrypto elsewhere. */
import type { SigningKey } from "./secret.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface HmacEngine {
  sign(key: SigningKey, timestamp: string, body: Uint8Array): Uint8Array;
  /** Constant time for equal lengths; unequal lengths are a mismatch. */
  isEqual(a: Uint8Array, b: Uint8Array): boolean;
}

export interface AsyncHmacEngine {
  sign(key: SigningKey, timestamp: string, body: Uint8Array): Uint8Array | Promise<Uint8Array>;
  isEqual(a: Uint8Array, b: Uint8Array): boolean;
}

type NodeCrypto = typeof import("node:crypto");

/** The engine of node:crypto, or undefined. Looked up at run time, so that no bundler has to be told about it. */
export const nodeEngine: HmacEngine | undefined = (() => {
  const runtime = (globalThis as { process?: { getBuiltinModule?: (id: string) => NodeCrypto | undefined } })
    .process;
  const crypto = runtime?.getBuiltinModule?.("node:crypto");
  return crypto === undefined ? undefined : engineOf(crypto);
})();

function engineOf({ createHmac, timingSafeEqual }: NodeCrypto): HmacEngine {
  return {
    sign: ({ key }, timestamp, body) =>
      createHmac("sha256", key).update(`${timestamp}.`).update(body).digest(),
    isEqual: (a, b) => a.byteLength === b.byteLength && timingSafeEqual(a, b),
  };
}

const algorithm = { name: "HMAC", hash: "SHA-256" };
const importedKeys = new WeakMap<SigningKey, Promise<CryptoKey>>();

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export const webEngine: AsyncHmacEngine = {
  async sign(key, timestamp, body) {
    const prefix = new TextEncoder().encode(`${timestamp}.`);
    const text = new Uint8Array(prefix.byteLength + body.byteLength);
    text.set(prefix);
    text.set(body, prefix.byteLength);
    return new Uint8Array(await crypto.subtle.sign(algorithm, await imported(key), text));
  },
  isEqual(a, b) {
    if (a.byteLength !== b.byteLength) return false;
    let difference = 0;
    for (let i = 0; i < a.byteLength; i++) difference |= (a[i] as number) ^ (b[i] as number);
    return difference === 0;
  },
};

function imported(signingKey: SigningKey): Promise<CryptoKey> {
  let key = importedKeys.get(signingKey);
  if (key === undefined) {
    const bytes =
      typeof signingKey.key === "string" ? new TextEncoder().encode(signingKey.key) : signingKey.key;
    key = crypto.subtle.importKey("raw", bytes as Bytes, algorithm, false, ["sign"]);
    importedKeys.set(signingKey, key);
  }
  return key;
}

export const anyEngine: AsyncHmacEngine = nodeEngine ?? webEngine;

/** @throws {TypeError} where node:crypto cannot be found, naming the function that does without. */
export function synchronousEngine(alternative: string): HmacEngine {
  if (nodeEngine !== undefined) return nodeEngine;
  throw new TypeError(`This runtime has no node:crypto to find; use ${alternative}, which needs none.`);
}

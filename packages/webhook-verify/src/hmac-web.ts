/** The engine of WebCrypto, for runtimes without node:crypto. */
import type { AsyncHmacEngine } from "./hmac-engine.ts";
import type { SigningKey } from "./secret.ts";

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
    key = crypto.subtle.importKey("raw", bytes as Uint8Array<ArrayBuffer>, algorithm, false, ["sign"]);
    importedKeys.set(signingKey, key);
  }
  return key;
}

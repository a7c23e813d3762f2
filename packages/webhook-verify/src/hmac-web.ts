/** The engine of WebCrypto, for runtimes without node:crypto. */
import type { AsyncHmacEngine } from "./hmac-engine.ts";
import { bytesOf } from "./raw-body.ts";

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const algorithm = { name: "HMAC", hash: "SHA-256" };

export const webEngine: AsyncHmacEngine = {
  async sign(key, timestamp, body) {
    const prefix = bytesOf(`${timestamp}.`) as Uint8Array;
    const text = new Uint8Array(prefix.length + body.length);
    text.set(prefix);
    text.set(body, prefix.length);
    key.forWeb ??= crypto.subtle.importKey(
      "raw",
      bytesOf(key.key) as Uint8Array<ArrayBuffer>,
      algorithm,
      false,
      ["sign"],
    );
    const signature = new Uint8Array(
      await crypto.subtle.sign(algorithm, (await key.forWeb) as CryptoKey, text),
    );
    return Array.from(signature, (byte) => byte.toString(16).padStart(2, "0")).join("");
  },
  isSame(own, theirs) {
    const lowered = theirs.toLowerCase();
    let difference = 0;
    for (let i = 0; i < 64; i++) difference |= own.charCodeAt(i) ^ lowered.charCodeAt(i);
    return difference === 0;
  },
};

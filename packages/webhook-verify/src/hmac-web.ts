/** The engine of WebCrypto, for runtimes without node:crypto. The comparison is the platform's own. */
import { bytesOf } from "./raw-body.ts";
import type { SigningKey } from "./secret.ts";
import type { SignatureHeader } from "./signature.ts";

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
type Bytes = Uint8Array<ArrayBuffer>;

const algorithm = { name: "HMAC", hash: "SHA-256" };

function keyOf(key: SigningKey): Promise<CryptoKey> {
  key.forWeb ??= crypto.subtle.importKey("raw", bytesOf(key.key) as Bytes, algorithm, false, [
    "sign",
    "verify",
  ]);
  return key.forWeb as Promise<CryptoKey>;
}

function signedText(timestamp: string, body: Uint8Array): Bytes {
  const prefix = bytesOf(`${timestamp}.`) as Uint8Array;
  const text = new Uint8Array(prefix.length + body.length);
  text.set(prefix);
  text.set(body, prefix.length);
  return text;
}

const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function bytesOfHex(hex: string): Bytes {
  const bytes = new Uint8Array(32);
  for (let i = 0; i < 32; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

export async function signByWebCrypto(key: SigningKey, timestamp: string, body: Uint8Array): Promise<string> {
  const text = signedText(timestamp, body);
  return hexOf(new Uint8Array(await crypto.subtle.sign(algorithm, await keyOf(key), text)));
}

export async function verifyByWebCrypto(
  key: SigningKey,
  { timestamp, signatures }: SignatureHeader,
  body: Uint8Array,
): Promise<boolean> {
  const text = signedText(timestamp, body);
  const cryptoKey = await keyOf(key);
  let found = false;
  for (const signature of signatures) {
    if (await crypto.subtle.verify(algorithm, cryptoKey, bytesOfHex(signature), text)) found = true;
  }
  return found;
}

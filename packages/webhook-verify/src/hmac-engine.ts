/** What the verifier needs of a cryptography: HMAC-SHA256 over `<t>.<raw body>` (spec 5.6), and a fair comparison. */
import type { SigningKey } from "./secret.ts";

export interface HmacEngine {
  sign(key: SigningKey, timestamp: string, body: Uint8Array): Uint8Array;
  /** Constant time for equal lengths; unequal lengths are a mismatch. */
  isEqual(a: Uint8Array, b: Uint8Array): boolean;
}

export interface AsyncHmacEngine {
  sign(key: SigningKey, timestamp: string, body: Uint8Array): Uint8Array | Promise<Uint8Array>;
  isEqual(a: Uint8Array, b: Uint8Array): boolean;
}

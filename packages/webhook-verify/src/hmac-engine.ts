/** What the verifier needs of a cryptography: HMAC-SHA256 over `<t>.<raw body>` (spec 5.6), and a fair comparison. */
import type { SigningKey } from "./secret.ts";

export interface HmacEngine {
  /** In lower-case hex. */
  sign(key: SigningKey, timestamp: string, body: Uint8Array): string;
  /** Of two signatures in 64 hex digits each. Takes the same time wherever they differ. */
  isSame(own: string, theirs: string): boolean;
}

export interface AsyncHmacEngine extends Pick<HmacEngine, "isSame"> {
  sign(key: SigningKey, timestamp: string, body: Uint8Array): string | Promise<string>;
}

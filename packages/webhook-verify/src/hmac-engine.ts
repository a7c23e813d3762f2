/** What the verifier needs of a cryptography: HMAC-SHA256 over `<t>.<raw body>` (spec 5.6), and a fair comparison. */
import type { SigningKey } from "./secret.ts";
import type { SignatureHeader } from "./signature.ts";

export interface HmacEngine {
  /** In lower-case hex. */
  sign(key: SigningKey, timestamp: string, body: Uint8Array): string;
  /** Whether the key's own signature is among those of the header. All are compared, in a time that does not tell where they differ. */
  verify(key: SigningKey, header: SignatureHeader, body: Uint8Array): boolean;
}

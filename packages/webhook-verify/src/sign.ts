/** Signs a body as the service does, for tests, tools and the mock service (spec 5.5, 5.6). */
import { nodeEngine, synchronousEngine } from "./hmac-node.ts";
import { signByWebCrypto } from "./hmac-web.ts";
import { checkedBody, type RawBody } from "./raw-body.ts";
import { type Secret, type SigningKey, signingKeys } from "./secret.ts";

/** What is signed, with which secret, as of when. */
export interface SignInput {
  rawBody: RawBody;
  secret: Secret;
  /** Unix time in seconds. Default: now. */
  timestamp?: number;
}

/**
 * Signs a body. Any runtime.
 * @returns the value of the `Service-Signature` header.
 * @throws {TypeError} for an empty secret, a timestamp that is not whole seconds, a parsed body.
 */
export async function signWebhook(input: SignInput): Promise<string> {
  const { key, timestamp, body } = checked(input);
  return `t=${timestamp},v1=${await (nodeEngine?.sign ?? signByWebCrypto)(key, timestamp, body)}`;
}

/** {@link signWebhook} without a promise, where node:crypto exists. */
export function signWebhookSync(input: SignInput): string {
  const { key, timestamp, body } = checked(input);
  return `t=${timestamp},v1=${synchronousEngine("signWebhook").sign(key, timestamp, body)}`;
}

function checked({ rawBody, secret, timestamp = Math.floor(Date.now() / 1000) }: SignInput) {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new TypeError(`timestamp must be unix time in whole seconds; it is ${timestamp}.`);
  }
  const [key] = signingKeys(secret) as [SigningKey];
  return { key, timestamp: String(timestamp), body: checkedBody(rawBody) };
}

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
 * @example
 * ```ts
 * import { signWebhook } from "@loyalty-cards/webhook-verify";
 *
 * const body = JSON.stringify({ id: "evt_1", type: "ping", createdAt: new Date().toISOString() });
 * const signature = await signWebhook({ rawBody: body, secret: "whsec_test" });
 * await fetch("http://127.0.0.1:3000/webhooks", { method: "POST", body, headers: { "service-signature": signature } });
 * ```
 */
export async function signWebhook(input: SignInput): Promise<string> {
  const { key, timestamp, body } = checked(input);
  return `t=${timestamp},v1=${await (nodeEngine?.sign ?? signByWebCrypto)(key, timestamp, body)}`;
}

/**
 * {@link signWebhook} without a promise, where node:crypto exists.
 * @example
 * ```ts
 * import { signWebhookSync } from "@loyalty-cards/webhook-verify";
 *
 * const tenMinutesAgo = Math.floor(Date.now() / 1000) - 600;
 * const stale = signWebhookSync({ rawBody: "{}", secret: "whsec_test", timestamp: tenMinutesAgo });
 * console.log(stale); // t=…,v1=…
 * ```
 */
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

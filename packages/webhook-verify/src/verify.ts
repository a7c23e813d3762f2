/** Verifies deliveries (spec 5.7), and signs them as the service does (spec 5.5, 5.6). */
import { type RawBody, toBody } from "./body.ts";
import { readClock } from "./clock.ts";
import { parseEvent, type WebhookEvent } from "./event.ts";
import {
  getNodeEngine,
  getSyncEngine,
  type HmacEngine,
  signWithWebCrypto,
  verifyWithWebCrypto,
} from "./hmac.ts";
import { type Secret, type SigningKey, toSigningKeys } from "./secrets.ts";
import {
  createVerificationError,
  parseSignature,
  type SignatureHeader,
  type VerificationFailure,
} from "./signature.ts";

/** A delivery as it arrived, and the secret to verify it with. */
export interface VerifyInput {
  /** The body exactly as it arrived. A body that was parsed and serialized again does not verify. */
  rawBody: RawBody;
  /** The value of the `Service-Signature` header. */
  signature: string | readonly string[] | null | undefined;
  /** The signing secret, or several during a rotation. */
  secret: Secret | readonly Secret[];
  /** How far `t` may differ from the current time, in either direction, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. */
  now?: () => number;
}

/**
 * Verifies a delivery and returns its event. Works in any runtime.
 * @throws {WebhookVerificationError} when the delivery does not verify; see its `reason`.
 * @throws {TypeError} for an invalid option: an empty secret, a tolerance that is not a number, a parsed body,
 * a `now` that does not return milliseconds.
 * @example
 * ```ts
 * import { isKnownEvent, isWebhookVerificationError, verifyWebhook } from "@loyalty-cards/webhook-verify";
 *
 * export async function handle(rawBody: Uint8Array, signature: string | undefined, secret: string): Promise<number> {
 *   try {
 *     const event = await verifyWebhook({ rawBody, signature, secret });
 *     if (isKnownEvent(event) && event.type === "balance.changed") console.log(event.data.balance);
 *     return 204;
 *   } catch (error) {
 *     if (!isWebhookVerificationError(error)) throw error;
 *     return error.reason === "invalid-payload" ? 400 : 401; // the reason is for your log only
 *   }
 * }
 * ```
 */
export async function verifyWebhook(input: VerifyInput): Promise<WebhookEvent> {
  return getEventOrThrow(await checkBody(parseInput(input)));
}

/**
 * {@link verifyWebhook} without a promise, for runtimes with node:crypto.
 * @throws as verifyWebhook does.
 * @example
 * ```ts
 * import { verifyWebhookSync } from "@loyalty-cards/webhook-verify";
 *
 * export const getType = (rawBody: Buffer, signature: string | undefined, secret: string): string =>
 *   verifyWebhookSync({ rawBody, signature, secret }).type;
 * ```
 */
export function verifyWebhookSync(input: VerifyInput): WebhookEvent {
  return getEventOrThrow(checkBodySync(getSyncEngine("verifyWebhook"), parseInput(input)));
}

function parseInput(input: VerifyInput): SignedBody {
  const keys = toSigningKeys(input.secret);
  const toleranceSeconds = parseTolerance(input.toleranceSeconds);
  const body = toBody(input.rawBody);
  const nowMs = readClock("now", input.now ?? Date.now);
  const header = checkHeader(input.signature, { nowMs, toleranceSeconds });
  if ("reason" in header) throw createVerificationError(header);
  return { header, body, keys, nowMs };
}

function getEventOrThrow(result: Verified | VerificationFailure): WebhookEvent {
  if ("reason" in result) throw createVerificationError(result);
  return result.event;
}

/**
 * @throws {TypeError} for a tolerance that would disable the check. The default is that of
 * [spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8).
 */
export function parseTolerance(toleranceSeconds = 300): number {
  if (Number.isFinite(toleranceSeconds) && toleranceSeconds >= 0) return toleranceSeconds;
  throw new TypeError(`toleranceSeconds must be a finite number, 0 or more, not ${toleranceSeconds}.`);
}

/** A well-formed header within the tolerance. */
export interface FreshHeader extends SignatureHeader {
  /** The current time minus `t`, in whole seconds; negative when the sender's clock is ahead. */
  skewSeconds: number;
}

/** Checks the form and the age of the header: cheap, and possible before the body is read. */
export function checkHeader(
  signature: VerifyInput["signature"],
  { nowMs, toleranceSeconds }: { nowMs: number; toleranceSeconds: number },
): FreshHeader | VerificationFailure {
  const header = parseSignature(signature);
  if (typeof header === "string") return { reason: header };
  const { timestamp, signatures } = header;
  const skewSeconds = Math.floor(nowMs / 1000) - Number(timestamp);
  if (skewSeconds > toleranceSeconds) return { reason: "stale", skewSeconds };
  if (skewSeconds < -toleranceSeconds) return { reason: "future", skewSeconds };
  return { timestamp, signatures, skewSeconds };
}

/** A body, the header that {@link checkHeader} accepted, and the keys to verify it with. */
export interface SignedBody {
  header: FreshHeader;
  body: Uint8Array | string;
  keys: readonly SigningKey[];
  nowMs: number;
}

/** A genuine delivery: its event, the secret that matched, and the difference of the clocks. */
export interface Verified {
  event: WebhookEvent;
  key: SigningKey;
  skewSeconds: number;
}

/** Verifies the signature and parses the event. Synchronous with node:crypto: a promise costs as much as parsing the header. */
export function checkBody(
  input: SignedBody,
): Verified | VerificationFailure | Promise<Verified | VerificationFailure> {
  const engine = getNodeEngine();
  return engine === undefined ? checkBodyWithWebCrypto(input) : checkBodySync(engine, input);
}

function checkBodySync(engine: HmacEngine, input: SignedBody): Verified | VerificationFailure {
  const { header, body, keys, nowMs } = input;
  // Tries all keys, so that the time does not depend on which one matches.
  const [key] = keys.filter((each) => !isExpired(each, nowMs) && engine.verify(each, header, body));
  return toVerified(input, key);
}

export async function checkBodyWithWebCrypto(input: SignedBody): Promise<Verified | VerificationFailure> {
  const { header, body, keys, nowMs } = input;
  const matches = keys.map((key) => !isExpired(key, nowMs) && verifyWithWebCrypto(key, header, body));
  return toVerified(input, keys[(await Promise.all(matches)).indexOf(true)]);
}

/** Without `notAfter` the comparison with undefined is false. */
const isExpired = ({ notAfterMs }: SigningKey, nowMs: number) => nowMs > (notAfterMs as number);

function toVerified(
  { header, body }: SignedBody,
  key: SigningKey | undefined,
): Verified | VerificationFailure {
  if (key === undefined) return { reason: "mismatch" };
  const event = parseEvent(body);
  if (typeof event === "string") return { reason: "invalid-payload", detail: event };
  return { event, key, skewSeconds: header.skewSeconds };
}

/** A body to sign. */
export interface SignInput {
  rawBody: RawBody;
  secret: Secret;
  /** Unix time in seconds. Default: the current time. */
  timestamp?: number;
}

/**
 * Signs a body as the service does, for tests and tools. Works in any runtime.
 * @returns the value of the `Service-Signature` header.
 * @throws {TypeError} for an empty secret, a timestamp that is not whole seconds, a parsed body.
 * @example
 * ```ts
 * import { signWebhook } from "@loyalty-cards/webhook-verify";
 *
 * const body = JSON.stringify({ id: "evt_1", type: "ping", createdAt: new Date().toISOString() });
 * const signature = await signWebhook({ rawBody: body, secret: "whsec_test" });
 * await fetch("http://127.0.0.1:3000/webhooks/loyalty", { method: "POST", body, headers: { "service-signature": signature } });
 * ```
 */
export async function signWebhook(input: SignInput): Promise<string> {
  const { key, timestamp, body } = parseSignInput(input);
  return `t=${timestamp},v1=${await (getNodeEngine()?.sign ?? signWithWebCrypto)(key, timestamp, body)}`;
}

/**
 * {@link signWebhook} without a promise, for runtimes with node:crypto.
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
  const { key, timestamp, body } = parseSignInput(input);
  return `t=${timestamp},v1=${getSyncEngine("signWebhook").sign(key, timestamp, body)}`;
}

function parseSignInput({ rawBody, secret, timestamp = Math.floor(Date.now() / 1000) }: SignInput) {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new TypeError(`timestamp must be unix time in whole seconds; it is ${timestamp}.`);
  }
  const [key] = toSigningKeys(secret) as [SigningKey];
  return { key, timestamp: String(timestamp), body: toBody(rawBody) };
}

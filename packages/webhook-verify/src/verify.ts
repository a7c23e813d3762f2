/** Verifies the `Service-Signature` of a delivery (spec 5.5 to 5.7), and signs as the service does. */
import { type RawBody, toBody } from "./body.ts";
import { parseEvent, type WebhookEvent } from "./event.ts";
import {
  type FreshHeader,
  findKeyWithNode,
  findKeyWithWebCrypto,
  getNodeCrypto,
  requireNodeCrypto,
  type SignedBody,
  type SigningKey,
  signWithNode,
  signWithWebCrypto,
} from "./hmac.ts";
import { type VerificationErrorReason, WebhookVerificationError } from "./reasons.ts";
import { type Secret, toSigningKeys } from "./secrets.ts";

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
  return orThrow(await verifyBody(parseInput(input))).event;
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
  const crypto = requireNodeCrypto("verifyWebhook");
  const signed = parseInput(input);
  return orThrow(parseVerified(findKeyWithNode(crypto, signed), signed.body)).event;
}

function parseInput({ secret, toleranceSeconds, rawBody, now = Date.now, signature }: VerifyInput) {
  const keys = toSigningKeys(secret);
  const tolerance = parseTolerance(toleranceSeconds);
  const body = toBody(rawBody);
  const nowMs = readClock(now);
  const header = orThrow(checkHeader(signature, nowMs, tolerance));
  return { header, body, keys, nowMs };
}

function orThrow<Result extends object>(result: Result | VerificationFailure): Result {
  if ("reason" in result) throw new WebhookVerificationError(result.reason, result);
  return result;
}

/** @throws {TypeError} for a tolerance that would disable the check. The default is that of spec 8. */
export function parseTolerance(toleranceSeconds = 300): number {
  if (Number.isFinite(toleranceSeconds) && toleranceSeconds >= 0) return toleranceSeconds;
  throw new TypeError(`toleranceSeconds must be a finite number, 0 or more, not ${toleranceSeconds}.`);
}

/** Whether a clock returned a time, in the range of a Date. With NaN no delivery would be stale: every comparison with it is false. */
export const isTimeMs = (ms: unknown): ms is number => typeof ms === "number" && Math.abs(ms) <= 8.64e15;

/** @throws {TypeError} for a `now` that is not a function, or does not return milliseconds. */
export function readClock(now: () => number): number {
  if (typeof now !== "function") {
    throw new TypeError("now must be a function that returns milliseconds, such as Date.now.");
  }
  const ms: unknown = now();
  if (isTimeMs(ms)) return ms;
  const returned = ms === null || typeof ms === "number" ? String(ms) : `a value of type ${typeof ms}`;
  throw new TypeError(
    `now must return milliseconds as a number, as Date.now does; it returned ${returned}. For a Date write () => date.getTime().`,
  );
}

/** Why a delivery does not verify. */
export interface VerificationFailure {
  reason: VerificationErrorReason;
  /** For `stale` and `future`: the current time minus the signature's, in seconds. */
  skewSeconds?: number;
  /** For `invalid-payload`: what is wrong, without text of the body. */
  detail?: string;
}

/** Checks the form and the age of the header: cheap, and possible before the body is read. */
export function checkHeader(
  signature: unknown,
  nowMs: number,
  toleranceSeconds: number,
): FreshHeader | VerificationFailure {
  const line: unknown = Array.isArray(signature) && signature.length < 2 ? signature[0] : signature;
  if (line === undefined || line === null || line === "") return { reason: "missing-signature" };
  const header = typeof line === "string" ? parseHeader(line) : undefined;
  if (header === undefined) return { reason: "malformed-signature" };
  const { timestamp, signatures } = header;
  const skewSeconds = Math.floor(nowMs / 1000) - Number(timestamp);
  if (skewSeconds > toleranceSeconds) return { reason: "stale", skewSeconds };
  if (skewSeconds < -toleranceSeconds) return { reason: "future", skewSeconds };
  return { timestamp, signatures, skewSeconds };
}

const maxHeaderLength = 1024;
const maxSignatures = 5;

/** Parses `t=<unix seconds>,v1=<hex>`. Pairs with other names are ignored; a second `t` is rejected. */
function parseHeader(line: string): Omit<FreshHeader, "skewSeconds"> | undefined {
  if (line.length > maxHeaderLength) return undefined;
  let timestamp: string | undefined;
  const signatures: string[] = [];
  for (const pair of line.split(/,[ \t]*/)) {
    const equals = pair.indexOf("=");
    if (equals < 1) return undefined;
    const name = pair.slice(0, equals);
    const value = pair.slice(equals + 1);
    if (name === "t") {
      if (timestamp !== undefined || !/^\d{1,12}$/.test(value)) return undefined;
      timestamp = value;
    } else if (name === "v1") {
      // spec 9: the scheme label; SHA-256 in hex
      if (signatures.length === maxSignatures || !/^[\da-f]{64}$/i.test(value)) return undefined;
      signatures.push(value.toLowerCase());
    }
  }
  return timestamp === undefined || signatures.length === 0 ? undefined : { timestamp, signatures };
}

/** The event of a genuine delivery, and the secret that matched. */
export interface Verified {
  event: WebhookEvent;
  key: SigningKey;
}

/** Verifies the signature and parses the event. */
export async function verifyBody(signed: SignedBody): Promise<Verified | VerificationFailure> {
  const crypto = getNodeCrypto();
  const key = crypto === undefined ? await findKeyWithWebCrypto(signed) : findKeyWithNode(crypto, signed);
  return parseVerified(key, signed.body);
}

/** @param key the key that made the signature, if there is one. */
export function parseVerified(
  key: SigningKey | undefined,
  body: Uint8Array | string,
): Verified | VerificationFailure {
  if (key === undefined) return { reason: "mismatch" };
  const event = parseEvent(body);
  return typeof event === "string" ? { reason: "invalid-payload", detail: event } : { event, key };
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
  const [key, timestamp, body] = parseSignInput(input);
  const crypto = getNodeCrypto();
  const hex =
    crypto === undefined
      ? await signWithWebCrypto(key, timestamp, body)
      : signWithNode(crypto, key, timestamp, body);
  return `t=${timestamp},v1=${hex}`;
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
  const [key, timestamp, body] = parseSignInput(input);
  return `t=${timestamp},v1=${signWithNode(requireNodeCrypto("signWebhook"), key, timestamp, body)}`;
}

function parseSignInput({ rawBody, secret, timestamp = Math.floor(Date.now() / 1000) }: SignInput) {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new TypeError(`timestamp must be unix time in whole seconds; it is ${timestamp}.`);
  }
  const [key] = toSigningKeys(secret) as [SigningKey];
  return [key, String(timestamp), toBody(rawBody)] as const;
}

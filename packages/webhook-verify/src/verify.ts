/**
 * Verifies the `Service-Signature` of a delivery (spec 5.5 to 5.7), and signs as the service does.
 */
import { formatType } from "@loyalty-cards/internal/format";
import { type OptionNames, requireKnownNames } from "@loyalty-cards/internal/known-options";
import type { Result } from "@loyalty-cards/internal/result";
import { type RawBody, toBody } from "./body.ts";
import { parseEvent, type WebhookEvent } from "./event.ts";
import {
  type Refusal,
  type Rejection,
  type VerificationErrorReason,
  WebhookVerificationError,
} from "./reasons.ts";
import type { SecretSource } from "./secret-source.ts";
import { type Secret, toSigningKeys } from "./secrets.ts";
import {
  checkHeader,
  findKeyWithNode,
  findKeyWithWebCrypto,
  getNodeCrypto,
  parseTolerance,
  readClock,
  requireNodeCrypto,
  type SigningKey,
  signWithNode,
  signWithWebCrypto,
  type UnverifiedBody,
} from "./signature.ts";

/** A delivery as it arrived, and the secret to verify it with. */
export interface VerifyInput {
  /**
   * The body exactly as it arrived. A body that was parsed and serialized again does not verify.
   */
  rawBody: RawBody;
  /** The value of the `Service-Signature` header. */
  signature: string | readonly string[] | null | undefined;
  /** The signing secret, or several during a rotation. */
  secret: Secret | readonly Secret[];
  /**
   * How far `t` may differ from the current time, in either direction, in seconds ([spec
   * 5.7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-7)). Default 300, at
   * most 86 400.
   */
  toleranceSeconds?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. */
  now?: () => number;
}

/**
 * Verifies a delivery and returns its event ([spec
 * 5.7](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-7)). Works in any
 * runtime.
 * @throws {WebhookVerificationError} when the delivery does not verify; see its `reason`.
 * @throws {TypeError} for an invalid option: an empty secret, a tolerance that is not a number, a
 * parsed body, a `now` that does not return milliseconds.
 * @example
 * ```ts
 * import {
 *   isKnownEvent,
 *   isWebhookVerificationError,
 *   type VerifyInput,
 *   verifyWebhook,
 * } from "@loyalty-cards/webhook-verify";
 *
 * export async function handle(delivery: VerifyInput): Promise<number> {
 *   try {
 *     const event = await verifyWebhook(delivery); // { rawBody, signature, secret }
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
  const { unverified, keys } = parseInput("verifyWebhook", input);
  return getOrThrow(await verifyBody(unverified, keys)).event;
}

/**
 * {@link verifyWebhook} without a promise, for runtimes with node:crypto.
 * @throws as verifyWebhook does.
 * @example
 * ```ts
 * import { verifyWebhookSync } from "@loyalty-cards/webhook-verify";
 *
 * export function getType(rawBody: Buffer, signature: string | undefined, secret: string): string {
 *   return verifyWebhookSync({ rawBody, signature, secret }).type;
 * }
 * ```
 */
export function verifyWebhookSync(input: VerifyInput): WebhookEvent {
  const crypto = requireNodeCrypto("verifyWebhook");
  const { unverified, keys } = parseInput("verifyWebhookSync", input);
  const key = findKeyWithNode(crypto, unverified, keys);
  return getOrThrow(parseMatched(key, unverified.body)).event;
}

const inputNames = {
  rawBody: true,
  signature: true,
  secret: true,
  toleranceSeconds: true,
  now: true,
} satisfies OptionNames<VerifyInput>;

function parseInput(
  owner: string,
  input: VerifyInput,
): {
  unverified: UnverifiedBody;
  keys: readonly SigningKey[];
} {
  requireKnownNames(owner, input, inputNames);
  const { secret, toleranceSeconds, rawBody, now = Date.now, signature } = input;
  if (typeof signature === "object" && signature !== null && !Array.isArray(signature))
    throw new TypeError(
      `signature must be the text of the Service-Signature header; it is ${formatType(signature)}. Of headers, pass headers["service-signature"].`,
    );
  const keys = toSigningKeys(secret);
  const tolerance = parseTolerance(toleranceSeconds);
  const body = toBody(rawBody);
  const nowMs = readClock(now);
  const header = getOrThrow(checkHeader(signature, nowMs, tolerance));
  return { unverified: { header, body, nowMs }, keys };
}

type Verification<Value> = Result<Value, Rejection<VerificationErrorReason>>;

function getOrThrow<Value>({ value, failure }: Verification<Value>): Value {
  if (failure !== undefined) throw new WebhookVerificationError(failure.reason, failure);
  return value as Value;
}

/** The event of a genuine delivery, and the secret that matched. */
export interface Match {
  event: WebhookEvent;
  key: SigningKey;
}

/** Verifies with the current secrets, and after a mismatch with those that may replace them. */
export async function verifyWithSecrets(
  unverified: UnverifiedBody,
  secrets: SecretSource,
): Promise<Result<Match, Refusal>> {
  const current = await secrets.current();
  if (current.failure !== undefined)
    return { failure: { reason: "no-secret", detail: current.failure } };
  const result = await verifyBody(unverified, current.value);
  if (result.failure?.reason !== "mismatch") return result;
  const keys = await secrets.reload();
  return keys === undefined ? result : verifyBody(unverified, keys);
}

/** Verifies the signature and parses the event. */
async function verifyBody(
  unverified: UnverifiedBody,
  keys: readonly SigningKey[],
): Promise<Verification<Match>> {
  const crypto = getNodeCrypto();
  const key =
    crypto === undefined
      ? await findKeyWithWebCrypto(unverified, keys)
      : findKeyWithNode(crypto, unverified, keys);
  return parseMatched(key, unverified.body);
}

/** @param key the key that made the signature, if there is one. */
export function parseMatched(key: SigningKey | undefined, body: Uint8Array): Verification<Match> {
  if (key === undefined) return { failure: { reason: "mismatch" } };
  const event = parseEvent(body);
  if (event.failure !== undefined)
    return { failure: { reason: "invalid-payload", detail: event.failure } };
  return { value: { event: event.value, key } };
}

/** A body to sign. */
export interface SignInput {
  rawBody: RawBody;
  secret: Secret;
  /** Unix time in seconds. Default: the current time. */
  timestamp?: number;
}

/**
 * Signs a body as the service does ([spec
 * 5.6](https://loyalty-cards.github.io/loyalty-cards/specification#spec-5-6)), for tests and tools.
 * Works in any runtime.
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
  const { key, timestamp, body } = parseSignInput("signWebhook", input);
  const crypto = getNodeCrypto();
  const hex =
    crypto === undefined
      ? await signWithWebCrypto(key, timestamp, body)
      : signWithNode(crypto, key, timestamp, body);
  return `t=${timestamp},v1=${hex}`;
}

/**
 * {@link signWebhook} without a promise, for runtimes with node:crypto.
 * @throws as signWebhook does.
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
  const { key, timestamp, body } = parseSignInput("signWebhookSync", input);
  const crypto = requireNodeCrypto("signWebhook");
  return `t=${timestamp},v1=${signWithNode(crypto, key, timestamp, body)}`;
}

const signInputNames = {
  rawBody: true,
  secret: true,
  timestamp: true,
} satisfies OptionNames<SignInput>;

function parseSignInput(owner: string, input: SignInput) {
  requireKnownNames(owner, input, signInputNames);
  const { rawBody, secret, timestamp = Math.floor(Date.now() / 1000) } = input;
  if (!Number.isSafeInteger(timestamp) || timestamp < 0 || timestamp >= 1e12) {
    throw new TypeError(`timestamp must be unix time in whole seconds; it is ${timestamp}.`);
  }
  const [key] = toSigningKeys(secret) as [SigningKey];
  return { key, timestamp: String(timestamp), body: toBody(rawBody) };
}

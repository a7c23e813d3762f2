/** Decides whether a delivery is genuine and fresh, and only then reads it (spec 5.7). */
import { readClock } from "./clock.ts";
import { parseEvent, type WebhookEvent } from "./event.ts";
import type { HmacEngine } from "./hmac-engine.ts";
import { nodeEngine, synchronousEngine } from "./hmac-node.ts";
import { verifyByWebCrypto } from "./hmac-web.ts";
import { checkedBody, type RawBody } from "./raw-body.ts";
import { type Secret, type SigningKey, signingKeys } from "./secret.ts";
import { parseSignature, type SignatureHeader } from "./signature.ts";
import { type Refusal, refusal, type VerificationFault } from "./verification-error.ts";

/** A delivery as it arrived, and what it is held against. */
export interface VerifyInput {
  /** The body exactly as it arrived. A body that was parsed and made again does not verify. */
  rawBody: RawBody;
  /** The value of the `Service-Signature` header. */
  signature: string | readonly string[] | null | undefined;
  /** The signing secret, or several while one replaces another. */
  secret: Secret | readonly Secret[];
  /** How far `t` may be from now, either way, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. */
  now?: () => number;
}

/** A genuine delivery: its event, the secret that matched, and how far its clock is from ours. */
export interface Verified {
  event: WebhookEvent;
  key: SigningKey;
  skewSeconds: number;
}

export interface Freshness {
  nowMs: number;
  toleranceSeconds: number;
}

/** A header within the tolerance. */
export interface FreshHeader extends SignatureHeader {
  /** Seconds since the delivery was signed; negative when its clock is ahead. Whole seconds, as `t` is. */
  skewSeconds: number;
}

/** spec 8 */
export const defaultToleranceSeconds = 300;

/** @throws {TypeError} when the tolerance would switch the check off. */
export function checkedTolerance(toleranceSeconds: number = defaultToleranceSeconds): number {
  if (Number.isFinite(toleranceSeconds) && toleranceSeconds >= 0) return toleranceSeconds;
  throw new TypeError(`toleranceSeconds must be a finite number, 0 or more, not ${toleranceSeconds}.`);
}

/** What the header alone can tell: its form and its age. Cheap, and needs no body. */
export function checkHeader(
  signature: VerifyInput["signature"],
  { nowMs, toleranceSeconds }: Freshness,
): FreshHeader | Refusal {
  const header = parseSignature(signature);
  if (typeof header === "string") return { reason: header };
  const { timestamp, signatures } = header;
  const skewSeconds = Math.floor(nowMs / 1000) - Number(timestamp);
  if (skewSeconds > toleranceSeconds) return { reason: "stale", skewSeconds };
  if (skewSeconds < -toleranceSeconds) return { reason: "future", skewSeconds };
  return { timestamp, signatures, skewSeconds };
}

/** A key without an end never is. */
const isOver = ({ notAfterMs }: SigningKey, nowMs: number) => nowMs > (notAfterMs as number);

/** What the body tells, once it is known which key signed it. */
function judged({ skewSeconds }: FreshHeader, body: Uint8Array, key: SigningKey | undefined): Checked {
  if (key === undefined) return "mismatch";
  const event = parseEvent(body);
  return typeof event === "string" ? "invalid-payload" : { event, key, skewSeconds };
}

/** What {@link checkHeader} let through, and what its signature is held against. */
export interface Checkable {
  header: FreshHeader;
  body: Uint8Array;
  keys: readonly SigningKey[];
  nowMs: number;
}

type Checked = Verified | VerificationFault;

/** Tries every key, whichever matches. */
function checkBodyBy(engine: HmacEngine, { header, body, keys, nowMs }: Checkable): Checked {
  let matched: SigningKey | undefined;
  for (const key of keys) if (!isOver(key, nowMs) && engine.verify(key, header, body)) matched ??= key;
  return judged(header, body, matched);
}

export async function checkBodyByWebCrypto({ header, body, keys, nowMs }: Checkable): Promise<Checked> {
  let matched: SigningKey | undefined;
  for (const key of keys) {
    if (!isOver(key, nowMs) && (await verifyByWebCrypto(key, header, body))) matched ??= key;
  }
  return judged(header, body, matched);
}

/** Checks the body, at once where node:crypto is: a promise costs as much as reading the header. */
export function checkBody(given: Checkable): Checked | Promise<Checked> {
  return nodeEngine === undefined ? checkBodyByWebCrypto(given) : checkBodyBy(nodeEngine, given);
}

/**
 * Verifies a delivery and returns its event. Any runtime.
 * @throws {WebhookVerificationError} when the delivery cannot be trusted; `reason` says why.
 * @throws {TypeError} when an option is wrong: an empty secret, a tolerance that is no number, a parsed body,
 * a `now` that returns no milliseconds.
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
  return eventOf(await checkBody(opened(input)));
}

/**
 * {@link verifyWebhook} without a promise, where node:crypto exists.
 * @throws as verifyWebhook does.
 * @example
 * ```ts
 * import { verifyWebhookSync } from "@loyalty-cards/webhook-verify";
 *
 * export const typeOf = (rawBody: Buffer, signature: string | undefined, secret: string): string =>
 *   verifyWebhookSync({ rawBody, signature, secret }).type;
 * ```
 */
export function verifyWebhookSync(input: VerifyInput): WebhookEvent {
  return eventOf(checkBodyBy(synchronousEngine("verifyWebhook"), opened(input)));
}

function opened(input: VerifyInput): Checkable {
  const keys = signingKeys(input.secret);
  const toleranceSeconds = checkedTolerance(input.toleranceSeconds);
  const body = checkedBody(input.rawBody);
  const nowMs = readClock("now", input.now ?? Date.now);
  const header = checkHeader(input.signature, { nowMs, toleranceSeconds });
  if ("reason" in header) throw refusal(header);
  return { header, body, keys, nowMs };
}

function eventOf(result: Checked): WebhookEvent {
  if (typeof result === "string") throw refusal({ reason: result });
  return result.event;
}

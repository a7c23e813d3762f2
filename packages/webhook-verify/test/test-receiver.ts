/** Receivers without a framework, the signature vectors with their verdicts, and a test clock. */
import signatures from "@loyalty-cards/openapi/vectors" with { type: "json" };
import {
  balanceChanged,
  type SignedDelivery,
  secret,
  signedDelivery,
} from "@loyalty-cards/testing/signed-delivery";
import { type ReceivedRequest, toBody } from "../src/body.ts";
import {
  createReceiver,
  type ReceiverOptions,
  type ReceiverOutcome,
  type VerifyInput,
  verifyWebhookSync,
  WebhookVerificationError,
} from "../src/index.ts";
import { toSigningKeys } from "../src/secrets.ts";
import { checkHeader, findKeyWithWebCrypto } from "../src/signature.ts";
import { parseMatched } from "../src/verify.ts";

export const signatureVectors = signatures.vectors.map((vector) => ({
  name: vector.name,
  rawBody: Buffer.from(vector.body, "base64"),
  secrets: vector.secrets.map((secret) => Buffer.from(secret, "base64")),
  /** A list for several header lines. */
  signature: vector.header.length > 1 ? vector.header : vector.header[0],
  nowMs: vector.nowSeconds * 1000,
  toleranceSeconds: vector.toleranceSeconds,
  verdict: vector.reason ?? "valid",
}));

export type Vector = (typeof signatureVectors)[number];

/**
 * `valid`, or the reason of the error. Any other error would be a response of 500 that anyone can
 * cause.
 */
export function getVerdict(input: VerifyInput): string {
  try {
    verifyWebhookSync(input);
    return "valid";
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
}

/** Verifies with WebCrypto where node:crypto exists too. */
export async function checkWithWebCrypto({ rawBody, signature, secret, ...options }: VerifyInput) {
  const { toleranceSeconds = 300, now = Date.now } = options;
  const header = checkHeader(signature, now(), toleranceSeconds);
  if (header.failure !== undefined) return header;
  const body = toBody(rawBody);
  const unverified = { header: header.value, body, nowMs: now() };
  return parseMatched(await findKeyWithWebCrypto(unverified, toSigningKeys(secret)), body);
}

export function post({ body, headers }: SignedDelivery, overrides: Partial<ReceivedRequest> = {}) {
  return { method: "POST", headers, rawBody: body, ...overrides };
}

/**
 * A receiver that collects its outcomes and its log lines. `deliver` sends a delivery with this
 * key, and returns the status.
 */
export function createTestReceiver(options: Partial<ReceiverOptions> = {}) {
  const outcomes: ReceiverOutcome[] = [];
  const log: string[] = [];
  const receive = createReceiver({
    secret,
    onOutcome: (outcome) => outcomes.push(outcome),
    log: (line) => log.push(line),
    ...options,
  });
  const deliver = async (key = secret) =>
    (await receive(post(signedDelivery(balanceChanged(), { key })))).status;
  return { receive, deliver, outcomes, log };
}

/** A clock that changes only when a test sets it. */
export function createTestClock(nowMs = 0) {
  const clock = { nowMs, now: () => clock.nowMs, monotonicMs: () => clock.nowMs };
  return clock;
}

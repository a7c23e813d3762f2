/** Signed deliveries and the signature vectors for the tests; receivers without a framework, a test clock, and gates. */
import signatures from "@loyalty-cards/openapi/vectors" with { type: "json" };
import { toBody } from "../src/body.ts";
import { findKeyWithWebCrypto } from "../src/hmac.ts";
import {
  createReceiver,
  type ReceiverOptions,
  type ReceiverOutcome,
  signWebhookSync,
  type VerifyInput,
  verifyWebhookSync,
  WebhookVerificationError,
} from "../src/index.ts";
import type { ReceivedRequest } from "../src/receiver.ts";
import { toSigningKeys } from "../src/secrets.ts";
import { checkHeader, parseVerified } from "../src/verify.ts";

export const secret = "whsec_mock_4fZr0nXqT1";

export const balanceChanged = (id = "evt_1") => ({
  id,
  type: "balance.changed" as const,
  createdAt: "2026-01-01T00:00:00.000Z",
  data: {
    passId: "card_1",
    customerId: "cus_1",
    balance: 120,
    change: 120,
    operation: { id: "op_1", type: "purchase" },
  },
});

export interface SignedDelivery {
  body: string;
  headers: Record<string, string>;
}

export function signedDelivery(
  event: { type: string } | string,
  { timestamp = Math.floor(Date.now() / 1000), key = secret } = {},
): SignedDelivery {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  return {
    body,
    headers: {
      "content-type": "application/json",
      "service-event": typeof event === "string" ? "balance.changed" : event.type,
      "service-delivery": "dlv_1",
      "service-signature": signWebhookSync({ rawBody: body, secret: key, timestamp }),
    },
  };
}

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

/** `valid`, or the reason of the error. Any other error would be a response of 500 that anyone can cause. */
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
  if ("reason" in header) return header;
  const body = toBody(rawBody);
  const signed = { header, body, keys: toSigningKeys(secret), nowMs: now() };
  return parseVerified(await findKeyWithWebCrypto(signed), body);
}

export function post({ body, headers }: SignedDelivery, overrides: Partial<ReceivedRequest> = {}) {
  return { method: "POST", headers, rawBody: body, ...overrides };
}

/** A receiver that collects its outcomes and its log lines. `deliver` sends a delivery with this key, and returns the status. */
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

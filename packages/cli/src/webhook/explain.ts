/** Verifies a captured delivery, and finds out why it fails: its age, the secret, or how the body was changed. */
import { explainMismatch } from "@loyalty-cards/internal/body-changes";
import { formatDuration } from "@loyalty-cards/internal/format";
import {
  isKnownEvent,
  isWebhookVerificationError,
  signWebhook,
  type VerificationErrorReason,
  verifyWebhook,
  type WebhookEvent,
} from "@loyalty-cards/webhook-verify";

export interface CapturedDelivery {
  body: Uint8Array;
  /** The value of the header, with or without its name before it. */
  signature: string | undefined;
  secret: string;
  /** The time to compare `t` with. */
  atMs: number;
  toleranceSeconds: number;
}

export type Verdict =
  | { verified: true; event: WebhookEvent; signedAt: string; isKnown: boolean }
  | { verified: false; reason: VerificationErrorReason; explanation: string; fix: string };

export async function explainDelivery(delivery: CapturedDelivery): Promise<Verdict> {
  const signature = delivery.signature?.replace(/^\s*service-signature\s*:\s*/i, "").trim();
  const { body: rawBody, secret, atMs, toleranceSeconds } = delivery;
  const verify = (now: () => number) => verifyWebhook({ rawBody, signature, secret, toleranceSeconds, now });
  const timestamp = Number(/(?:^|,)\s*t=(\d{1,12})/.exec(signature ?? "")?.[1] ?? Number.NaN);
  try {
    const event = await verify(() => atMs);
    return { verified: true, event, signedAt: toIso(timestamp), isKnown: isKnownEvent(event) };
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    const { reason, skewSeconds = 0 } = error;
    if (reason === "mismatch") {
      return {
        verified: false,
        reason,
        ...(await describeMismatch(rawBody, signature ?? "", secret, timestamp)),
      };
    }
    if (reason !== "stale" && reason !== "future")
      return { verified: false, reason, ...explanations[reason] };
    const other = await verify(() => timestamp * 1000).then(
      () => undefined,
      (inner: unknown) => (isWebhookVerificationError(inner) ? inner.reason : undefined),
    );
    const age = formatDuration(Math.abs(skewSeconds) * 1000);
    const distance = `${age} ${skewSeconds > 0 ? "before" : "after"} ${new Date(atMs).toISOString()}`;
    return {
      verified: false,
      reason,
      explanation: `It was signed at ${toIso(timestamp)}, ${distance}; the tolerance is ${toleranceSeconds} s. ${
        other === undefined ? "Apart from that, it verifies." : `Apart from that: ${other}.`
      }`,
      fix: `For an old capture pass the time of its arrival, for example --at ${toIso(timestamp)}. For a new one synchronize the clock of this machine.`,
    };
  }
}

const toIso = (seconds: number) => new Date(seconds * 1000).toISOString();

const explanations: Record<
  Exclude<VerificationErrorReason, "mismatch" | "stale" | "future">,
  { explanation: string; fix: string }
> = {
  "missing-signature": {
    explanation: "There is no Service-Signature header.",
    fix: "Pass the value of the header with --signature. If the delivery arrived without it, a proxy removed it, or the service did not send it.",
  },
  "malformed-signature": {
    explanation: "The header is not t=<unix seconds>,v1=<64 hex digits>.",
    fix: "Pass the whole value of Service-Signature in quotes, once.",
  },
  "invalid-payload": {
    explanation:
      "The signature is valid, but the body is not an event: a JSON object with the strings id, type and createdAt.",
    fix: "The service does not send this: was the body signed by a program of your own?",
  },
};

/** Tries the common changes of a body. */
async function describeMismatch(body: Uint8Array, signature: string, secret: string, timestamp: number) {
  const explanation = await explainMismatch(body, async (rawBody) => {
    const [, hex = ""] = (await signWebhook({ rawBody, secret, timestamp })).split("v1=");
    return signature.toLowerCase().includes(hex);
  });
  const capture = "Capture the bytes as they arrived, before anything parses or prints them.";
  if (explanation !== undefined) return { explanation, fix: capture };
  return {
    explanation:
      "The secret or the body is another one: the signature belongs to neither this body nor a common change of it.",
    fix: `Compare the secret with the one of this endpoint in the console; each endpoint has its own. ${capture}`,
  };
}

/** Says whether a captured delivery verifies, and why not: for the page "Check a signature". Runs in the browser. */

import { removeErrorLink } from "@loyalty-cards/internal/errors";
import { explainMismatch } from "@loyalty-cards/internal/explain-delivery";
import { formatDuration } from "@loyalty-cards/internal/format";
import {
  isWebhookVerificationError,
  type VerificationErrorReason,
} from "../../packages/webhook-verify/src/reasons.ts";
import {
  signWebhook,
  type VerifyInput,
  verifyWebhook,
} from "../../packages/webhook-verify/src/verify.ts";

type Delivery = VerifyInput & { rawBody: Uint8Array };

export interface Result {
  verdict: "valid" | VerificationErrorReason;
  explanation: string;
}

/** @throws {TypeError} for an empty secret; the message says what to change. */
export async function checkDelivery(delivery: Delivery): Promise<Result> {
  const timestamp = Number(/(?:^|[,\s])t=(\d{1,12})/.exec(String(delivery.signature))?.[1]);
  try {
    const { type, id } = await verifyWebhook(delivery);
    return {
      verdict: "valid",
      explanation: `The secret and the body belong to this signature: ${type}, ${id}.`,
    };
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    const { reason, skewSeconds = 0 } = error;
    if (reason === "mismatch")
      return { verdict: reason, explanation: await explain(delivery, timestamp) };
    if (reason !== "stale" && reason !== "future")
      return { verdict: reason, explanation: removeErrorLink(error.message) };
    // A captured delivery is usually too old: what else is wrong with it is of interest all the same.
    const other = await checkDelivery({ ...delivery, now: () => timestamp * 1_000 });
    const age = `${formatDuration(Math.abs(skewSeconds) * 1_000)} ${skewSeconds > 0 ? "ago" : "ahead of this clock"}`;
    return {
      verdict: reason,
      explanation: `It was signed ${age}. Apart from that: ${other.explanation}`,
    };
  }
}

/** A common change of the body, or else the signature that was expected. */
async function explain(delivery: Delivery, timestamp: number): Promise<string> {
  const { rawBody, secret } = delivery;
  const change = await explainMismatch(rawBody, (other) =>
    verifyWebhook({ ...delivery, rawBody: other, now: () => timestamp * 1_000 }).then(
      () => true,
      (error) => isWebhookVerificationError(error) && error.reason !== "mismatch",
    ),
  );
  if (change !== undefined) return change.replaceAll("`", "");
  const [first = ""] = [secret].flat();
  const [, hex] = (await signWebhook({ rawBody, secret: first, timestamp })).split("v1=");
  return `The secret or the body is another one. Expected for this secret and body: v1=${hex}`;
}

/** Verifies a delivery without a receiver, from the bytes and the header to the event. */
import {
  isWebhookVerificationError,
  verifyWebhook,
} from "@loyalty-cards/webhook-verify";

export async function handle(
  rawBody: Uint8Array,
  signature: string | undefined,
  secret: string,
) {
  try {
    const event = await verifyWebhook({ rawBody, signature, secret });
    return { status: 204, event };
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    // the reason is for your log only
    return { status: error.reason === "invalid-payload" ? 400 : 401 };
  }
}

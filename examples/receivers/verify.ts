/** Verifying without a receiver: bytes and header in, event out. */
// #region verify
import { verifyWebhook, WebhookVerificationError } from "@loyalty-cards/webhook-verify";

export async function handle(rawBody: Uint8Array, signature: string | undefined, secret: string) {
  try {
    const event = await verifyWebhook({ rawBody, signature, secret });
    return { status: 204, event };
  } catch (error) {
    if (error instanceof WebhookVerificationError) return { status: 401 }; // error.reason is for your log only
    throw error;
  }
}
// #endregion

/** Corrects a form after a 422, for a service that may store a 422 under its idempotency key. */
// #region corrected-form
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

export interface User {
  id: string;
  name: string;
  phone: string;
  cardId?: string;
  keySuffix?: string; // undefined until the service has rejected the form
}

/**
 * Issues the card and stores its id in the user. Returns what the visitor has to
 * correct.
 */
export async function issueCardOrCorrect(
  loyalty: IssuingClient,
  templateId: string,
  user: User,
): Promise<string | undefined> {
  const { id: userId, name, phone, keySuffix } = user;
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  try {
    const card = await loyalty.issueCard(
      templateId,
      { fieldValues: { name }, customer },
      { userId, ...(keySuffix !== undefined && { keySuffix }) },
    );
    user.cardId = card.id;
    return undefined;
  } catch (error) {
    if (!isIssuingError(error) || error.code !== "validation") throw error;
    // Only after a received 422, when no card exists under this key. After any
    // other error keep the key suffix.
    if (error.outcome === "rejected") user.keySuffix = crypto.randomUUID();
    return error.userMessage;
  }
}
// #endregion

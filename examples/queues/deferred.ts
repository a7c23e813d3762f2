/** A sign-up that does not depend on the service: a job issues missing cards later, within 24 hours. */
// #region users
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

export interface User {
  id: string; // crypto.randomUUID(): unique across all user tables
  name: string;
  phone: string; // may be blank
  /** The text that the visitor accepted, and when. Keep it as evidence, even without a card. */
  privacy: { version: string; acceptedAt: Date };
  /** Undefined if the visitor did not opt in. */
  marketing?: { version: string; acceptedAt: Date };
  /** When the card was first requested with this key suffix: saved before the first call. */
  cardWantedAt?: Date;
  /** Part of the idempotency key: new after each 422. */
  keySuffix?: string;
  cardId?: string;
  /** Why the job does not repeat the call. */
  cardError?: string;
}

export interface Users {
  save(user: User): Promise<void>;
  get(userId: string): Promise<User | undefined>;
}
// #endregion

// #region issue
export async function issueCardTo(
  loyalty: IssuingClient,
  templateId: string,
  users: Users,
  user: User,
): Promise<{ correct: string | undefined }> {
  let correct: string | undefined;
  user.cardWantedAt ??= new Date();
  delete user.cardError;
  await users.save(user); // before the call: after a crash the job issues the card
  const { id: userId, name, phone, privacy, marketing, keySuffix, cardWantedAt: firstAttemptAt } = user;
  const consents = {
    privacy: { version: privacy.version },
    ...(marketing && { marketing: { version: marketing.version } }), // omitted if not accepted
  };
  try {
    const card = await loyalty.issueCard(
      templateId,
      { fieldValues: { name }, customer: { name, phone, consents } },
      { userId, firstAttemptAt, ...(keySuffix !== undefined && { keySuffix }) },
    );
    user.cardId = card.id;
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    if (error.cardId !== undefined)
      user.cardId = error.cardId; // the card exists, although the response is invalid
    // A retry cannot succeed: the form, the API key or the template has to be corrected, or 24 hours have passed.
    else if (!error.retryable && error.code !== "idempotency-mismatch") user.cardError = error.code;
    if (error.code === "validation") correct = error.userMessage;
    if (error.code === "validation" && error.outcome === "rejected") {
      // A 422 was received: no card exists under this key, and the corrected form gets a new one.
      user.keySuffix = crypto.randomUUID();
      delete user.cardWantedAt;
    }
  }
  await users.save(user);
  return { correct };
}

/** The job of a user. It rejects while the user waits for the card, so that the queue repeats the job. */
export async function issueWaitingCard(
  loyalty: IssuingClient,
  templateId: string,
  users: Users,
  userId: string,
): Promise<void> {
  const isWaiting = (user: User) => user.cardWantedAt && user.cardId === undefined && !user.cardError;
  const user = await users.get(userId);
  if (user === undefined || !isWaiting(user)) return;
  await issueCardTo(loyalty, templateId, users, user);
  if (isWaiting(user)) throw new Error("The card was not issued; the queue repeats the job.");
}
// #endregion

/** A sign-up that never waits for loyalty: what did not work now is tried again by a job, within 24 hours. */
// #region users
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

export interface User {
  id: string; // crypto.randomUUID(): no other user table has the same
  name: string;
  phone: string; // may be blank
  /** What was shown and accepted, and when: your evidence, whatever happens to the card. */
  privacy: { version: string; acceptedAt: Date };
  /** Undefined when the box was left empty. */
  marketing?: { version: string; acceptedAt: Date };
  /** When the card was first requested with this salt: saved before the first call. */
  cardWantedAt?: Date;
  /** Part of the idempotency key: new after each 422. */
  salt?: string;
  cardId?: string;
  /** Why the job does not try again by itself. */
  cardError?: string;
}

export interface Users {
  save(user: User): Promise<void>;
  waitingForCard(): AsyncIterable<User>; // with cardWantedAt, without cardId and cardError
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
  const { id: userId, name, phone, privacy, marketing, salt, cardWantedAt: firstAttemptAt } = user;
  const consents = {
    privacy: { version: privacy.version },
    ...(marketing && { marketing: { version: marketing.version } }), // left out when not accepted
  };
  try {
    const card = await loyalty.issueCard(
      templateId,
      { fieldValues: { name }, customer: { name, phone, consents } },
      { userId, firstAttemptAt, ...(salt !== undefined && { salt }) },
    );
    user.cardId = card.id;
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    if (error.cardId !== undefined)
      user.cardId = error.cardId; // issued, in a response of another form
    // A retry cannot succeed: the form, the API key or the template has to be corrected, or 24 hours have passed.
    else if (!error.retryable && error.code !== "idempotency-mismatch") user.cardError = error.code;
    if (error.code === "validation") correct = error.userMessage;
    if (error.code === "validation" && error.outcome === "rejected") {
      // A 422 was received: no card exists under this key, and the corrected form gets a new one.
      user.salt = crypto.randomUUID();
      delete user.cardWantedAt;
    }
  }
  await users.save(user);
  return { correct };
}

/** Call it every minute. Two processes that run it at the same time issue no second card. */
export async function issueWaitingCards(loyalty: IssuingClient, templateId: string, users: Users) {
  for await (const user of users.waitingForCard()) await issueCardTo(loyalty, templateId, users, user);
}
// #endregion

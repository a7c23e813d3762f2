/** A sign-up that never waits for loyalty: what did not work now is tried again by a job, within 24 hours. */
// #region users
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

export interface User {
  id: string; // crypto.randomUUID(): no other user table has the same
  name: string;
  phone: string;
  /** What was shown and accepted, and when: your evidence, whatever happens to the card. */
  privacy: { version: string; acceptedAt: Date };
  /** Undefined when the box was left empty. */
  marketing?: { version: string; acceptedAt: Date };
  /** When the card was first asked for: saved before the first call. */
  cardWantedAt?: Date;
  cardId?: string;
  /** Why the job does not try again by itself. */
  cardFault?: string;
}

export interface Users {
  save(user: User): Promise<void>;
  waitingForCard(): AsyncIterable<User>;
}
// #endregion

// #region issue
export async function giveCard(
  loyalty: IssuingClient,
  templateId: string,
  users: Users,
  user: User,
): Promise<{ correct: string | undefined }> {
  let correct: string | undefined;
  user.cardWantedAt ??= new Date();
  await users.save(user); // before the call: after a crash the job knows whom to serve
  const { id: userId, name, phone, privacy, marketing, cardWantedAt: firstAttemptAt } = user;
  const consents = {
    privacy: { version: privacy.version },
    ...(marketing && { marketing: { version: marketing.version } }), // absent when not given
  };
  try {
    const card = await loyalty.issueCard(
      templateId,
      { fieldValues: { name }, customer: { name, phone, consents } },
      { userId, firstAttemptAt },
    );
    user.cardId = card.id;
    delete user.cardFault;
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    // Trying again does not help: the form, a key or the template has to be mended, or 24 hours have passed.
    if (!error.retryable) user.cardFault = error.code;
    if (error.code === "validation") correct = error.userMessage;
  }
  await users.save(user);
  return { correct };
}

/** Every minute, say. One process at a time is enough; two at once do no harm. */
export async function giveWaitingCards(loyalty: IssuingClient, templateId: string, users: Users) {
  for await (const user of users.waitingForCard()) await giveCard(loyalty, templateId, users, user);
}
// #endregion

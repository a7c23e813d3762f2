/** Issues a member's pending card. */
import { changed } from "./changes";
import { loyalty, templateId } from "./loyalty";
import { type Member, saveCard } from "./members";

/**
 * Every call returns the same card: the key is derived from the member's id and key suffix. 24 hours after the first attempt, when
 * the service may have forgotten that key, the client rejects the call.
 */
export async function issueCardTo(member: Member, deadlineMs: number): Promise<void> {
  const { id, name, email, phone, privacyVersion, newsVersion, joinedAt, cardKeySuffix } = member;
  const consents = {
    privacy: { version: privacyVersion },
    ...(newsVersion !== null && { marketing: { version: newsVersion } }),
  };
  const card = await loyalty().issueCard(
    templateId(),
    { fieldValues: { name }, customer: { name, email, phone, consents } }, // blank ones are left out
    {
      userId: id,
      firstAttemptAt: joinedAt,
      deadlineMs,
      ...(cardKeySuffix !== null && { keySuffix: cardKeySuffix }),
    },
  );
  await saveCard(id, card, newsVersion !== null);
  changed(id);
}

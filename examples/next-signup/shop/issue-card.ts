/** Issues the card that a member is owed. */
import { changed } from "./changes";
import { loyalty, templateId } from "./loyalty";
import { type Member, saveCard } from "./members";

/**
 * However often it is called, it is one card: the key is made of the member's id, and a day after the first attempt,
 * when the service may have forgotten that key, the client refuses.
 */
export async function issueCardTo(member: Member, deadlineMs: number): Promise<void> {
  const { id, name, email, phone, privacyVersion, newsVersion, joinedAt } = member;
  const consents = {
    privacy: { version: privacyVersion },
    ...(newsVersion !== null && { marketing: { version: newsVersion } }),
  };
  const card = await loyalty().issueCard(
    templateId(),
    { fieldValues: { name }, customer: { name, email, phone, consents } },
    { userId: id, firstAttemptAt: joinedAt, deadlineMs },
  );
  await saveCard(id, card, newsVersion !== null);
  changed(id);
}

/** The shop's own members, and the cards that belong to them. */
import { inTransaction } from "./database";

export interface Member {
  id: string;
  name: string;
  email: string;
  phone: string;
  privacyVersion: string;
  newsVersion: string | null;
  /** In milliseconds; the first attempt at the card came right after it. */
  joinedAt: number;
}

export interface MemberCard {
  id: string;
  publicUrl: string;
  balance: number;
  tier: string | null;
  /** null when the shop never heard of it. */
  wantsNews: number | null;
}

export const memberColumns =
  "members.id, name, email, phone, privacy_version AS privacyVersion, news_version AS newsVersion, joined_at AS joinedAt";
/** How long the sign-up has the card for itself, before it is issued later. */
const signUpMayTakeMs = 15_000;
/** Not longer: the form may still be on a screen that somebody else looks at. */
const sentTwiceWithinMs = 60_000;

/**
 * Saves a member together with the card that is owed, so that no crash forgets it. A form that is sent twice, by an impatient
 * finger, is one member.
 * @param formId of the page that was sent: nobody else has it.
 * @returns undefined when somebody has that e-mail address.
 */
export function saveMember(
  draft: Omit<Member, "id" | "joinedAt">,
  formId: string,
  nowMs: number,
): Promise<Member | undefined> {
  const member = { id: crypto.randomUUID(), ...draft, joinedAt: nowMs };
  return inTransaction((query) => {
    const saved = query(
      `INSERT INTO members (id, name, email, phone, privacy_version, news_version, joined_at, form_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
      ...[member.id, member.name, member.email, member.phone],
      ...[member.privacyVersion, member.newsVersion, nowMs, formId],
    );
    if (saved.length === 0) {
      const [same] = query<Member>(
        `SELECT ${memberColumns} FROM members WHERE form_id = ? AND email = ? AND joined_at > ?`,
        ...[formId, member.email, nowMs - sentTwiceWithinMs],
      );
      return same;
    }
    query(
      "INSERT INTO cards_to_issue (member_id, next_attempt_at) VALUES (?, ?)",
      member.id,
      nowMs + signUpMayTakeMs,
    );
    return member;
  });
}

/** Only for somebody who has no card yet. */
export function forgetMember(id: string): Promise<void> {
  return inTransaction((query) => {
    query("DELETE FROM cards_to_issue WHERE member_id = ?", id);
    query("DELETE FROM members WHERE id = ? AND card_id IS NULL", id);
  });
}

/** An event may have come before the answer to the sign-up: what it said stays. */
export function saveCard(
  memberId: string,
  card: { id: string; publicUrl: string; loyaltyBalance: number; loyaltyTier: string | null },
  wantsNews: boolean,
) {
  return inTransaction((query) => {
    query(
      `INSERT INTO cards (id, public_url, balance, tier, wants_news) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET public_url = excluded.public_url,
         balance = COALESCE(balance, excluded.balance), tier = COALESCE(tier, excluded.tier),
         wants_news = COALESCE(wants_news, excluded.wants_news)`,
      ...[card.id, card.publicUrl, card.loyaltyBalance, card.loyaltyTier, wantsNews ? 1 : null],
    );
    query("UPDATE members SET card_id = ? WHERE id = ?", card.id, memberId);
    query("DELETE FROM cards_to_issue WHERE member_id = ?", memberId);
  });
}

export async function cardOf(memberId: string): Promise<MemberCard | undefined> {
  const [card] = await inTransaction((query) =>
    query<MemberCard>(
      `SELECT cards.id, public_url AS publicUrl, balance, tier, wants_news AS wantsNews
       FROM cards JOIN members ON members.card_id = cards.id WHERE members.id = ?`,
      memberId,
    ),
  );
  return card;
}

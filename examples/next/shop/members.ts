/** The shop's members and their cards. */
import { inTransaction } from "./database";

export interface Member {
  id: string;
  name: string;
  /** null when the form had none: any number of members may have none. */
  email: string | null;
  /** May be blank. */
  phone: string;
  privacyVersion: string;
  newsVersion: string | null;
  /** When the form was sent, in milliseconds; the first attempt with this key suffix came right after it. */
  joinedAt: number;
  /** Part of the idempotency key; another one for each corrected form. */
  cardKeySuffix: string | null;
}

/** The fields of the form. */
export type Draft = Omit<Member, "id" | "joinedAt" | "cardKeySuffix">;

export interface MemberCard {
  id: string;
  publicUrl: string;
  balance: number;
  tier: string | null;
  /** null when it is unknown. */
  wantsNews: number | null;
}

export const memberColumns =
  "members.id, name, email, phone, privacy_version AS privacyVersion, news_version AS newsVersion, joined_at AS joinedAt, card_key_suffix AS cardKeySuffix";
/** Stored as the time of the next attempt when no attempt is planned, because a person must act. */
export const neverMs = Number.MAX_SAFE_INTEGER;
/** The background job waits this long, while the sign-up itself issues the card. */
const backgroundDelayMs = 15_000;
/** How long a repeated form returns the same member. Limited, because another person may later see the open form. */
const resubmitWindowMs = 60_000;

/**
 * Saves a member together with the pending card, so that a crash does not lose it. A form that is submitted twice creates
 * one member, also when the service rejected it the first time.
 * @param formId identifies the submitted page.
 * @returns undefined when another member has that e-mail address.
 */
export function saveMember(draft: Draft, formId: string, nowMs: number): Promise<Member | undefined> {
  const member = { id: crypto.randomUUID(), ...draft, joinedAt: nowMs, cardKeySuffix: null };
  return inTransaction((query) => {
    // A rejected form has no session, so its member belongs to the next form with that address. The service may have
    // stored the 422 under its key: the corrected form has a new keySuffix, which is safe because a 422 was received.
    const [corrected] = query<Member>(
      `UPDATE OR IGNORE members SET name = ?, email = ?, phone = ?, privacy_version = ?, news_version = ?, joined_at = ?,
         form_id = ?, card_key_suffix = ?, is_refused = 0
       WHERE is_refused AND (form_id = ? OR email = ?) RETURNING ${memberColumns}`,
      ...[member.name, member.email, member.phone, member.privacyVersion, member.newsVersion, nowMs],
      ...[formId, crypto.randomUUID(), formId, member.email],
    );
    if (corrected !== undefined) {
      query(
        "UPDATE cards_to_issue SET next_attempt_at = ? WHERE member_id = ?",
        nowMs + backgroundDelayMs,
        corrected.id,
      );
      return corrected;
    }
    const saved = query(
      `INSERT INTO members (id, name, email, phone, privacy_version, news_version, joined_at, form_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id`,
      ...[member.id, member.name, member.email, member.phone],
      ...[member.privacyVersion, member.newsVersion, nowMs, formId],
    );
    if (saved.length === 0) {
      const [same] = query<Member>(
        `SELECT ${memberColumns} FROM members WHERE form_id = ? AND email IS ? AND joined_at > ?`,
        ...[formId, member.email, nowMs - resubmitWindowMs],
      );
      return same;
    }
    query(
      "INSERT INTO cards_to_issue (member_id, next_attempt_at) VALUES (?, ?)",
      member.id,
      nowMs + backgroundDelayMs,
    );
    return member;
  });
}

/** The service responded 422 to the form: the member stays, and no attempt is made until the form is corrected. */
export function awaitCorrection(id: string): Promise<void> {
  return inTransaction((query) => {
    query("UPDATE cards_to_issue SET next_attempt_at = ? WHERE member_id = ?", neverMs, id);
    query("UPDATE members SET is_refused = 1 WHERE id = ?", id);
  });
}

/** Keeps the values of an event that arrived before the response to the sign-up. */
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

export async function getCard(memberId: string): Promise<MemberCard | undefined> {
  const [card] = await inTransaction((query) =>
    query<MemberCard>(
      `SELECT cards.id, public_url AS publicUrl, balance, tier, wants_news AS wantsNews
       FROM cards JOIN members ON members.card_id = cards.id WHERE members.id = ?`,
      memberId,
    ),
  );
  return card;
}

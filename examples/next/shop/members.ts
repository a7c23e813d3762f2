/** The shop's members and their cards. */

import { createHash } from "node:crypto";
import type { IssueCardRequest } from "@loyalty-cards/issuing-client";
import { inTransaction, outbox } from "./database";
import { loyalty, templateId } from "./loyalty";

export interface Member {
  id: string;
  name: string;
  /** null when the form had none: any number of members may have none. */
  email: string | null;
  /** May be blank. */
  phone: string;
  privacyVersion: string;
  newsVersion: string | null;
}

/** The fields of the form. */
export type Draft = Omit<Member, "id">;

export interface MemberCard {
  id: string;
  publicUrl: string;
  balance: number;
  tier: string | null;
  /** null when it is unknown. */
  wantsNews: number | null;
}

export const memberColumns =
  "members.id, name, email, phone, privacy_version AS privacyVersion, news_version AS newsVersion";
/** How long a repeated form returns the same member. Limited, because another person may later see the open form. */
const resubmitWindowMs = 60_000;

/**
 * Saves a member together with the card that is owed, so that a crash does not lose it. A form that is submitted twice creates
 * one member.
 * @param formId identifies the submitted page.
 * @returns undefined when another member has that email address.
 */
export async function saveMember(
  draft: Draft,
  formId: string,
  nowMs: number,
): Promise<Member | undefined> {
  const box = await outbox();
  return inTransaction((query, database) => {
    const [same, other] = query<{ id: string; isRepeated: number }>(
      `SELECT id, form_id = ? AND email IS ? AND joined_at > ? AS isRepeated FROM members WHERE form_id = ? OR email = ?`,
      ...[formId, draft.email, nowMs - resubmitWindowMs, formId, draft.email],
    );
    if (other !== undefined) return undefined;
    const member = { id: same?.id ?? crypto.randomUUID(), ...draft };
    const state = box.add(database, {
      userId: member.id,
      template: templateId(),
      request: toRequest(draft),
    });
    // A rejected form has no session, so its member belongs to the next form with that address.
    if (state === "rejected") box.correct(database, member.id, toRequest(draft));
    else if (same !== undefined) return same.isRepeated ? member : undefined;
    query(
      `INSERT OR REPLACE INTO members (id, name, email, phone, privacy_version, news_version, joined_at, form_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[member.id, member.name, member.email, member.phone],
      ...[member.privacyVersion, member.newsVersion, nowMs, formId],
    );
    return member;
  });
}

function toRequest({
  name,
  email,
  phone,
  privacyVersion,
  newsVersion,
}: Draft): IssueCardRequest {
  const consents = {
    privacy: { version: privacyVersion },
    ...(newsVersion !== null && { marketing: { version: newsVersion } }),
  };
  return { fieldValues: { name }, customer: { name, email, phone, consents } }; // blank ones are left out
}

/** An event can arrive before the card's id, and a new card has no event. */
export async function getCard(memberId: string): Promise<MemberCard | undefined> {
  const [card] = await inTransaction((query) =>
    query<Omit<MemberCard, "publicUrl"> & { publicUrl: string | null }>(
      `SELECT cards.id, public_url AS publicUrl, COALESCE(balance, 0) AS balance, tier,
         COALESCE(wants_news, CASE WHEN news_version IS NOT NULL THEN 1 END) AS wantsNews
       FROM cards JOIN members ON members.card_id = cards.id WHERE members.id = ?`,
      memberId,
    ),
  );
  if (card === undefined) return undefined;
  // A card that a person found for an unknown entry comes without its address.
  return {
    ...card,
    publicUrl: card.publicUrl ?? (await loyalty().getCard(card.id)).publicUrl,
  };
}

/** Whether the card cannot be issued without a person: a form that was rejected later, or an entry that is unknown. */
export async function isStuck(memberId: string): Promise<boolean> {
  const entry = await (await outbox()).get(memberId);
  return entry?.state === "rejected" || entry?.state === "unknown";
}

export async function createStamp(memberId: string): Promise<string> {
  const shown = [await getCard(memberId), await isStuck(memberId)];
  return createHash("sha256")
    .update(JSON.stringify(shown))
    .digest("base64url")
    .slice(0, 16);
}

/** What a member's page shows: the member and the card, from the shop's own tables. */
import { loyalty } from "./loyalty";

export interface Member {
  id: string;
  name: string;
}

export interface MemberCard {
  id: string;
  publicUrl: string;
  balance: number;
  tier: string | null;
  /** 1 or 0. */
  wantsNews: number;
}

type Value = string | number | null;

/** Runs one statement; the caller declares the type of the rows. */
export const query = <Row>(sql: string, ...values: Value[]): Promise<Row[]> =>
  loyalty().outbox.write(
    (database) => database.prepare(sql).all(...values) as Row[],
  );

/** An event can arrive before the card's id. A new card has no event, and the consent of the sign-up. */
export async function getCard(memberId: string): Promise<MemberCard | undefined> {
  const [card] = await query<MemberCard & { publicUrl: string | null }>(
    `SELECT cards.id, public_url AS publicUrl, COALESCE(balance, 0) AS balance, tier,
       COALESCE(consent, news_version IS NOT NULL) AS wantsNews
     FROM cards JOIN members ON members.card_id = cards.id WHERE members.id = ?`,
    memberId,
  );
  if (card === undefined) return undefined;
  // A card that a person found for an unknown entry comes without its address.
  const publicUrl =
    card.publicUrl ?? (await loyalty().client.getCard(card.id)).publicUrl;
  return { ...card, publicUrl };
}

/** A card that cannot be issued without a person is stuck: the form was rejected later, or the entry is unknown. */
export async function getState(
  memberId: string,
): Promise<{ card?: MemberCard; isStuck?: boolean }> {
  const card = await getCard(memberId);
  if (card !== undefined) return { card };
  const entry = await loyalty().outbox.get(memberId);
  return { isStuck: entry?.state === "rejected" || entry?.state === "unknown" };
}

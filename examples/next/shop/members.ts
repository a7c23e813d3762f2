/**
 * Members: their sessions, a random token in a cookie and its hash in the shop's database, and what
 * their page shows, from the shop's own tables.
 */
import "server-only"; // the build fails if code for the browser imports this file
import { createHash, randomBytes } from "node:crypto";
import { cookies } from "next/headers";
import { loyalty } from "./loyalty";
import type { Joined } from "./sign-up";

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

const cookieName = "member";
const maxAgeSeconds = 30 * 24 * 3_600;
const hashToken = (token: string) =>
  createHash("sha256").update(token).digest("hex");
const readToken = async () => (await cookies()).get(cookieName)?.value ?? "";

/** Signs nobody in when another form has corrected this one since it was saved. */
export async function beginSession({ memberId, formId }: Joined): Promise<void> {
  const token = randomBytes(32).toString("base64url");
  const insert = `INSERT INTO sessions
    SELECT ?, id, ? FROM members WHERE id = ? AND form_id = ?`;
  await query(insert, hashToken(token), Date.now(), memberId, formId);
  (await cookies()).set(cookieName, token, {
    httpOnly: true,
    sameSite: "lax",
    path: "/",
    maxAge: maxAgeSeconds,
    secure: process.env.SHOP_URL?.startsWith("https:") ?? false,
  });
}

export async function endSession(): Promise<void> {
  const token = await readToken();
  await query("DELETE FROM sessions WHERE token_hash = ?", hashToken(token));
  (await cookies()).delete(cookieName);
}

export async function currentMember(): Promise<Member | undefined> {
  const [member] = await query<Member>(
    `SELECT members.id, name FROM sessions JOIN members ON members.id = member_id
     WHERE token_hash = ? AND began_at > ?`,
    hashToken(await readToken()),
    Date.now() - maxAgeSeconds * 1_000,
  );
  return member;
}

/** An event can arrive before the card's id. A new card has no event, but the sign-up's consent. */
export async function getCard(memberId: string): Promise<MemberCard | undefined> {
  const [card] = await query<MemberCard & { publicUrl: string | null }>(
    `SELECT cards.id, public_url AS publicUrl, COALESCE(balance, 0) AS balance, tier,
       COALESCE(consent, news_version IS NOT NULL) AS wantsNews
     FROM cards JOIN members ON members.card_id = cards.id WHERE members.id = ?`,
    memberId,
  );
  if (card === undefined) return undefined;
  const publicUrl = card.publicUrl ?? (await readAddress(card.id));
  return publicUrl === undefined ? undefined : { ...card, publicUrl };
}

/** A card that a person found for an unknown entry comes without its address. */
async function readAddress(cardId: string): Promise<string | undefined> {
  const read = loyalty().client.getCard(cardId, { deadlineMs: 1_000 });
  const card = await read.catch(console.error); // the open page asks again
  if (card === undefined) return undefined;
  const update = "UPDATE cards SET public_url = ? WHERE id = ?";
  await query(update, card.publicUrl, cardId);
  return card.publicUrl;
}

/**
 * A card that cannot be issued without a person is stuck: the form was rejected later, or the entry
 * is unknown.
 */
export async function getState(
  memberId: string,
): Promise<{ card?: MemberCard; isStuck?: boolean }> {
  const card = await getCard(memberId);
  if (card !== undefined) return { card };
  const entry = await loyalty().outbox.get(memberId);
  return { isStuck: entry?.state === "rejected" || entry?.state === "unknown" };
}

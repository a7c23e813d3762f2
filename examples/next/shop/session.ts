/** Sessions: a random token in a cookie, and its hash in the shop's database. */
import "server-only"; // the build fails if code for the browser imports this file
import { createHash, randomBytes } from "node:crypto";
import { cookies } from "next/headers";
import { type Member, query } from "./members";

const cookieName = "member";
const maxAgeSeconds = 30 * 24 * 3_600;
const hashToken = (token: string) =>
  createHash("sha256").update(token).digest("hex");
const readToken = async () => (await cookies()).get(cookieName)?.value ?? "";

export async function beginSession(memberId: string): Promise<void> {
  const token = randomBytes(32).toString("base64url");
  const insert = "INSERT INTO sessions VALUES (?, ?, ?)";
  await query(insert, hashToken(token), memberId, Date.now());
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

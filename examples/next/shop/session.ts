/** Sessions: a random token in a cookie, and its hash in the shop's database. */
import { createHash, randomBytes } from "node:crypto";
import { cookies } from "next/headers";
import { inTransaction } from "./database";
import { type Member, memberColumns } from "./members";

const cookieName = "member";
const daysMs = 24 * 3_600_000;
const hashToken = (token: string) =>
  createHash("sha256").update(token).digest("hex");

export async function beginSession(memberId: string): Promise<void> {
  const token = randomBytes(32).toString("base64url");
  await inTransaction((query) =>
    query(
      "INSERT INTO sessions VALUES (?, ?, ?)",
      hashToken(token),
      memberId,
      Date.now(),
    ),
  );
  (await cookies()).set(cookieName, token, {
    httpOnly: true,
    sameSite: "lax",
    path: "/",
    maxAge: (30 * daysMs) / 1000,
    secure: process.env.SHOP_URL?.startsWith("https:") ?? false,
  });
}

export async function endSession(): Promise<void> {
  const token = (await cookies()).get(cookieName)?.value ?? "";
  await inTransaction((query) =>
    query("DELETE FROM sessions WHERE token_hash = ?", hashToken(token)),
  );
  (await cookies()).delete(cookieName);
}

export async function currentMember(): Promise<Member | undefined> {
  const token = (await cookies()).get(cookieName)?.value;
  if (token === undefined) return undefined;
  const [member] = await inTransaction((query) =>
    query<Member>(
      `SELECT ${memberColumns} FROM sessions JOIN members ON members.id = member_id
       WHERE token_hash = ? AND began_at > ?`,
      hashToken(token),
      Date.now() - 30 * daysMs,
    ),
  );
  return member;
}

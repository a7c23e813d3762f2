/** A short mark of what a member's page shows: another mark, another page. */
import { createHash } from "node:crypto";
import { isStuck } from "./cards-later";
import { cardOf } from "./members";

export async function stampOf(memberId: string): Promise<string> {
  const shown = [await cardOf(memberId), await isStuck(memberId)];
  return createHash("sha256").update(JSON.stringify(shown)).digest("base64url").slice(0, 16);
}

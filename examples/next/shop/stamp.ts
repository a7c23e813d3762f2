/** A short hash of what a member's page shows. It changes when the page changes. */
import { createHash } from "node:crypto";
import { getCard, isStuck } from "./members";

export async function createStamp(memberId: string): Promise<string> {
  const shown = [await getCard(memberId), await isStuck(memberId)];
  return createHash("sha256").update(JSON.stringify(shown)).digest("base64url").slice(0, 16);
}

/** Issues a card when a user joins. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";

const loyalty = createIssuingClient(); // the build has no key: it is read with the first call

/** @returns the card's id. */
export async function join(userId: string, name: string): Promise<string> {
  const card = await loyalty.issueCard(
    process.env.LOYALTY_TEMPLATE_ID ?? "",
    { fieldValues: { name }, customer: { name, consents: { privacy: { version: "2026-01" } } } },
    { userId },
  );
  return card.id;
}

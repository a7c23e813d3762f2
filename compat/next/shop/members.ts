/** Issues a card when a user joins. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";

/** @returns the card's id. The client is created at request time, because the build has no key. */
export async function join(userId: string, name: string): Promise<string> {
  const loyalty = createIssuingClient({
    baseUrl: process.env.LOYALTY_URL ?? "",
    apiKey: process.env.LOYALTY_API_KEY ?? "",
  });
  const card = await loyalty.issueCard(
    process.env.LOYALTY_TEMPLATE_ID ?? "",
    { fieldValues: { name }, customer: { name, consents: { privacy: { version: "2026-01" } } } },
    { userId },
  );
  return card.id;
}

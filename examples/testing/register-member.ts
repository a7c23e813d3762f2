/** The code under test: issues a card to a new member. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";

export interface LoyaltySettings {
  baseUrl: string;
  apiKey: string;
  templateId: string;
}

export async function registerMember(
  { templateId, ...service }: LoyaltySettings,
  member: { id: string; phone: string },
): Promise<string> {
  const loyalty = createIssuingClient(service);
  const customer = {
    phone: member.phone,
    consents: { privacy: { version: "2026-01" } },
  };
  const card = await loyalty.issueCard(
    templateId,
    { customer },
    { userId: member.id },
  );
  return card.id;
}

/** The code under test: what a shop calls when somebody joins. */
// #region register-member
// register-member.ts, the code under test
import { createIssuingClient } from "@loyalty-cards/issuing-client";

export interface LoyaltySettings {
  baseUrl: string;
  apiKey: string;
  templateId: string;
}

export async function registerMember(
  { baseUrl, apiKey, templateId }: LoyaltySettings,
  member: { id: number; phone: string },
): Promise<string> {
  const loyalty = createIssuingClient({ baseUrl, apiKey });
  const customer = { phone: member.phone, consents: { privacy: { version: "2026-01" } } };
  const card = await loyalty.issueCard(templateId, { customer }, { userId: member.id });
  return card.id;
}
// #endregion

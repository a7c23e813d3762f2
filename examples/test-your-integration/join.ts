/** The code under test: what this shop does when somebody joins. */
// #region join
// join.ts
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

export interface Member {
  id: string;
  name: string;
  phone: string;
}

export type Joined = { cardId: string } | { correct: string } | { later: true };

export async function join(loyalty: IssuingClient, templateId: string, member: Member): Promise<Joined> {
  const { id: userId, name, phone } = member;
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  try {
    const card = await loyalty.issueCard(templateId, { fieldValues: { name }, customer }, { userId });
    return { cardId: card.id };
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    if (error.code === "validation") return { correct: error.userMessage };
    return { later: true };
  }
}
// #endregion

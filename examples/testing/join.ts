/** The code under test: the sign-up of this shop. */
// #region join
// join.ts
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";

export interface Member {
  id: string;
  name: string;
  phone: string; // may be blank
  keySuffix?: string; // part of the idempotency key; new after each 422
}

export type Joined = { cardId: string } | { correct: string } | { later: true };

export async function join(loyalty: IssuingClient, templateId: string, member: Member): Promise<Joined> {
  const { id: userId, name, phone, keySuffix } = member;
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  try {
    const card = await loyalty.issueCard(
      templateId,
      { fieldValues: { name }, customer },
      { userId, ...(keySuffix !== undefined && { keySuffix }) },
    );
    return { cardId: card.id };
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    if (error.code !== "validation") return { later: true };
    if (error.outcome === "rejected") member.keySuffix = crypto.randomUUID(); // store it with the member
    return { correct: error.userMessage };
  }
}
// #endregion

/** What the routes share: issuing a card, and reports to the back office, another process, of what was done with the events. */
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

export async function saveBalance(cardId: string, balance: number): Promise<void> {
  await report("saved", { cardId, balance });
}

/** Waits for the response of the back office. */
export async function thank(cardId: string): Promise<void> {
  await report("thanking", { cardId });
  await report("thanked", { cardId });
}

async function report(what: string, facts: object): Promise<void> {
  const body = JSON.stringify(facts);
  await fetch(`${process.env.BACK_OFFICE_URL}/${what}`, { method: "POST", body });
}

/** A template with typed fields. */
// #region template
import { defineTemplate, type IssuingClient } from "@loyalty-cards/issuing-client";

const coffeeClub = defineTemplate<{ name: string }>("tpl_coffee");

export async function joinCoffeeClub(
  loyalty: IssuingClient,
  userId: string,
  name: string,
): Promise<string> {
  const customer = { name, consents: { privacy: { version: "2026-01" } } };
  const card = await loyalty.issueCard(
    coffeeClub,
    { fieldValues: { name }, customer },
    { userId },
  );
  return card.fieldValues.name; // string
}
// #endregion

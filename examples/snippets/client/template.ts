/** A template with typed fields. */
// #region template
import { defineTemplate, type IssuingClient } from "@loyalty-cards/issuing-client";
import { z } from "zod";

const coffeeClub = defineTemplate(
  "tpl_coffee",
  z.object({ name: z.string().trim().min(1) }),
);

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

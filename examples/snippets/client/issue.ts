/** Issues a card, also with a template whose fields are typed. */
// #region issue
import { createIssuingClient } from "@loyalty-cards/issuing-client";

const { LOYALTY_TEMPLATE_ID: templateId = "" } = process.env;
// reads LOYALTY_URL and LOYALTY_API_KEY, which stays on the server
const loyalty = createIssuingClient();

export function issueCardTo(user: { id: string; phone: string; name: string }) {
  return loyalty.issueCard(
    templateId,
    {
      fieldValues: { name: user.name },
      customer: {
        phone: user.phone,
        name: user.name,
        consents: { privacy: { version: "2026-01" } },
      },
    },
    { userId: user.id },
  );
}

// #endregion

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

/** Issues a card. */
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

/** The first card in fifteen lines: the code on the landing page of the documentation. */
// #region first-card
import { createIssuingClient } from "@loyalty-cards/issuing-client";

const loyalty = createIssuingClient(); // reads LOYALTY_URL and LOYALTY_API_KEY

export async function issueCard(user: { id: string; name: string; email: string }) {
  const card = await loyalty.issueCard(
    "tpl_coffee",
    {
      fieldValues: { name: user.name },
      customer: {
        email: user.email,
        consents: { privacy: { version: "2026-01" } },
      },
    },
    { userId: user.id }, // a repeated form, a retry and a restart get the same card
  );
  return card.publicUrl; // the page with both wallet buttons
}
// #endregion

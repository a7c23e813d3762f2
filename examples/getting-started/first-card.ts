/** The first card: the program of the README, the landing page and the first guide. */
// #region first-card
// first-card.ts
import { createIssuingClient } from "@loyalty-cards/issuing-client";

// Reads LOYALTY_URL and LOYALTY_API_KEY.
const loyalty = createIssuingClient();
const privacy = { version: "2026-01" };
const card = await loyalty.issueCard(
  "tpl_mock",
  {
    fieldValues: { name: "Anna" },
    customer: { phone: "600100200", consents: { privacy } },
  },
  // Repeated calls return the same card.
  { userId: "1" }, // your user's id
);
console.log(card.id, card.publicUrl);
// #endregion

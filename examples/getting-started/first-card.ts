/** The first card: the program of the README, the landing page and the first guide. */
// #region first-card
// first-card.ts
import { createIssuingClient } from "@loyalty-cards/issuing-client";

const loyalty = createIssuingClient(); // reads LOYALTY_URL and LOYALTY_API_KEY
const consents = { privacy: { version: "2026-01" } };
const card = await loyalty.issueCard(
  "tpl_mock",
  { fieldValues: { name: "Anna" }, customer: { phone: "600100200", consents } },
  { userId: "1" }, // your user's id: a repeated call returns the same card
);
console.log(card.id, card.publicUrl); // the page with both wallet buttons
// #endregion

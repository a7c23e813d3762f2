/** Issues a card. */
// #region issue
import { createIssuingClient } from "@loyalty-cards/issuing-client";

const loyalty = createIssuingClient({
  baseUrl: process.env.LOYALTY_URL ?? "",
  apiKey: process.env.LOYALTY_API_KEY ?? "", // a Website key: stays on the server
  idempotencyNamespace: process.env.LOYALTY_IDEMPOTENCY_NAMESPACE ?? "development", // another one for each user table
});

export function issueCardTo(user: { id: string; phone: string; name: string }) {
  return loyalty.issueCard(
    process.env.LOYALTY_TEMPLATE_ID ?? "",
    {
      fieldValues: { name: user.name },
      customer: { phone: user.phone, name: user.name, consents: { privacy: { version: "2026-01" } } },
    },
    { userId: user.id },
  );
}
// #endregion

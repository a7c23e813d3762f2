/** A till without an outbox: the cashier repeats the call with the same user until there is a card. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { tillPort } from "../network.ts";

const client = createIssuingClient();

simulation.listeners.set(tillPort, async ({ body }) => {
  const { name, firstAttemptAt } = JSON.parse(body) as { name: string; firstAttemptAt: number };
  const request = { fieldValues: { name }, customer: { name, consents: { privacy: { version: "1" } } } };
  const options = { userId: name, ...(firstAttemptAt > 0 && { firstAttemptAt }) };
  const status = await client
    .issueCard(process.env.LOYALTY_TEMPLATE_ID ?? "", request, options)
    .then(() => 201)
    .catch(() => 503);
  return { status, headers: {}, body: "" };
});

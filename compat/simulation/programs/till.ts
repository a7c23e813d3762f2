/**
 * A till without an outbox: the cashier repeats the call with the same user until there is a card,
 * or it is rejected.
 */
import { createIssuingClient, IssuingError } from "@loyalty-cards/issuing-client";
import { tillPort } from "../network.ts";

const client = createIssuingClient();
let calls = 0;

simulation.listeners.set(tillPort, async ({ body }) => {
  const { name, firstAttemptAt } = JSON.parse(body) as { name: string; firstAttemptAt: number };
  const request = {
    fieldValues: { name },
    customer: { name, consents: { privacy: { version: "1" } } },
  };
  const options = { userId: name, ...(firstAttemptAt > 0 && { firstAttemptAt }) };
  calls += 1;
  const result = await client
    .issueCard(process.env.LOYALTY_TEMPLATE_ID ?? "", request, options)
    .then(() => "issued")
    .catch((error) => {
      if (!(error instanceof IssuingError) || error.outcome === "unknown") return "unknown";
      return error.outcome === "rejected" && !error.retryable ? "rejected" : "no card yet";
    });
  calls -= 1;
  if (calls === 0) simulation.leftTimers += simulation.timers.size;
  return { status: 200, headers: {}, body: result };
});

import { createIssuingClient, IssuingError } from "@loyalty-cards/issuing-client";

const client = createIssuingClient({ baseUrl: "https://cards.example.com", apiKey: "key" });

export async function signUp(userId: string, phone: string): Promise<string> {
  const customer = { phone, consents: { privacy: { version: "1" } } };
  try {
    const card = await client.issueCard("template", { fieldValues: { name: "Anna" }, customer }, { userId });
    return card.publicUrl;
  } catch (error) {
    if (error instanceof IssuingError && error.retryable) console.error(error.code, error.outcome);
    throw error;
  }
}

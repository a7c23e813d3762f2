/** One sign-up with the built client: what crash.ts kills, and starts again. */
import { createIssuingClient } from "../packages/issuing-client/dist/index.js";

const [baseUrl, apiKey, templateId, userId] = process.argv.slice(2);
const client = createIssuingClient({ baseUrl, apiKey });
const customer = { email: `user${userId}@example.com`, consents: { privacy: { version: "1" } } };
const card = await client.issueCard(templateId, { customer }, { userId });
console.log(card.id);

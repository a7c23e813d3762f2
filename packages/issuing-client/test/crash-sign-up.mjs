/** One sign-up with the built client; crash.ts kills and restarts it. */
import { createIssuingClient } from "../dist/index.js";

const [baseUrl, apiKey, templateId, userId] = process.argv.slice(2);
const client = createIssuingClient({ baseUrl, apiKey });
const customer = { email: `user${userId}@example.com`, consents: { privacy: { version: "1" } } };
const card = await client.issueCard(templateId, { customer }, { userId });
console.log(card.id);

/** A whole shop in one file: a sign-up that issues a card, and a receiver that keeps the balance. */
// #region shop
// shop.mjs
import { cardLinks, createIssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express from "express";

const { env } = process;
const loyalty = createIssuingClient({
  baseUrl: env.LOYALTY_URL,
  apiKey: env.LOYALTY_API_KEY, // stays on the server
  idempotencyNamespace: env.LOYALTY_NAMESPACE ?? "development", // one name for each user table
  deadlineMs: 5_000, // nobody waits longer for a sign-up
});
const users = []; // yours are in a database
const app = express();

// Above the parsers: the signature covers the bytes that arrived.
app.post(
  "/webhooks/loyalty",
  expressReceiver({
    secret: env.LOYALTY_SIGNING_SECRET,
    dedupe: memoryDedupe(),
    accept: onEvents({
      "balance.changed": ({ data }) => {
        const user = users.find(({ cardId }) => cardId === data.passId);
        if (user !== undefined) user.balance = data.balance;
      },
      other: () => {},
    }),
  }),
);

app.use(express.json());

app.post("/sign-up", async (request, response) => {
  const { name, email, phone } = request.body;
  const known = email && users.find((each) => each.email === email); // without an address: always a new user
  const user = known || { id: crypto.randomUUID(), name, email, balance: 0 };
  if (!known) users.push(user);
  try {
    const customer = { name, email, phone, consents: { privacy: { version: "2026-01" } } };
    const fieldValues = { name };
    const card = await loyalty.issueCard(
      env.LOYALTY_TEMPLATE_ID,
      { fieldValues, customer },
      { userId: user.id }, // sent twice, it is the same card
    );
    user.cardId = card.id;
    response.status(201).json({ user, links: cardLinks(card) });
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    if (error.code === "validation") return response.status(422).json({ message: error.userMessage });
    console.error(error);
    response.status(202).json({ user, message: error.userMessage }); // signed up; the card follows
  }
});

// For this page only: a real shop shows a user to that user alone.
app.get("/users", (_request, response) => response.json(users));

app.listen(env.PORT ?? 3000, () => console.log(`The shop is open. The console: ${env.LOYALTY_CONSOLE_URL}`));
// #endregion

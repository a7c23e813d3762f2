/** The shop of the demo on Express: a sign-up that never fails because of the loyalty service, and a webhook route. */
import { createIssuingClient, type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { memoryDedupe, onEvents } from "@loyalty-cards/webhook-verify";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import express, { type Express, type RequestHandler } from "express";
import type { Users } from "./users.ts";

export interface ShopSettings {
  baseUrl: string; // LOYALTY_URL
  apiKey: string; // LOYALTY_API_KEY: stays on the server
  templateId: string; // LOYALTY_TEMPLATE_ID
  signingSecret: string; // LOYALTY_SIGNING_SECRET
  log?: (line: string) => void; // receives the receiver's warnings; default console.error
}

export function createShop(settings: ShopSettings, users: Users): Express {
  const { templateId, signingSecret, log, ...service } = settings;
  const loyalty = createIssuingClient({ ...service, deadlineMs: 5_000 }); // the longest that a sign-up waits
  const app = express();
  app.post("/webhooks/loyalty", receiveWebhooks({ secret: signingSecret, ...(log && { log }) }, users)); // above the parsers: it needs the bytes
  app.use(express.json(), express.urlencoded({ extended: false }));
  app.post("/sign-up", signUp(loyalty, templateId, users));
  return app;
}

function receiveWebhooks(
  options: { secret: string; log?: (line: string) => void },
  users: Users,
): RequestHandler {
  return expressReceiver({
    ...options,
    dedupe: memoryDedupe(),
    handler: onEvents({
      "balance.changed": ({ data }) => {
        users.saveBalance(data.passId, data.balance); // an older event can arrive later: an inbox handles order
      },
      otherTypes: () => {},
    }),
  });
}

function signUp(loyalty: IssuingClient, templateId: string, users: Users): RequestHandler {
  return async (request, response) => {
    const { name, email, phone } = request.body ?? {};
    const user = await users.signUp({ name, email, phone }); // your own sign-up: checks the form, saves the user, logs in
    try {
      const card = user.cardId
        ? await loyalty.getCard(user.cardId)
        : await loyalty.issueCard(
            templateId,
            {
              fieldValues: { name },
              customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } }, // blank ones are left out
            },
            { userId: user.id, ...(user.keySuffix && { keySuffix: user.keySuffix }) }, // sent twice within 24 hours: the same card
          );
      user.cardId = card.id; // save it in your database
      response.status(201).json({ userId: user.id, card, links: loyalty.cardLinks(card) });
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      if (error.code === "validation") {
        if (error.outcome === "rejected") user.keySuffix = crypto.randomUUID(); // saved too: the corrected form needs a new key
        return void response.status(422).json({ userId: user.id, message: error.userMessage });
      }
      if (error.cardId) user.cardId = error.cardId; // issued, in a response of another form
      if (!error.retryable) console.error(error); // such as a wrong key or template, which fails for every user
      response.status(202).json({ userId: user.id, message: error.userMessage }); // signed up; the card is issued later
    }
  };
}

/** The shop's sign-up: saves the user, issues the card, and never fails because loyalty does. */
// #region sign-up
// sign-up.ts
import { cardLinks, type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { RequestHandler } from "express";
import type { Users } from "./users.ts";

export function signUp(loyalty: IssuingClient, templateId: string, users: Users): RequestHandler {
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
            { userId: user.id, ...(user.salt && { salt: user.salt }) }, // sent twice within 24 hours: the same card
          );
      user.cardId = card.id; // save it in your database
      response.status(201).json({ userId: user.id, card, links: cardLinks(card) });
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      if (error.code === "validation") {
        if (error.outcome === "rejected") user.salt = crypto.randomUUID(); // saved too: the corrected form needs a new key
        return void response.status(422).json({ userId: user.id, message: error.userMessage });
      }
      if (error.cardId) user.cardId = error.cardId; // issued, in a response of another form
      if (!error.retryable) console.error(error); // such as a wrong key or template, which fails for every user
      response.status(202).json({ userId: user.id, message: error.userMessage }); // signed up; the card is issued later
    }
  };
}
// #endregion

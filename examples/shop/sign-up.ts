/** The shop's sign-up: saves the user, issues the card, and never fails because loyalty does. */
// #region sign-up
import { cardLinks, type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { RequestHandler } from "express";
import type { Users } from "./users.ts";

export function signUp(loyalty: IssuingClient, templateId: string, users: Users): RequestHandler {
  return async (request, response, next) => {
    try {
      const { name, email, phone } = request.body ?? {};
      const user = await users.signUp({ name, email }); // your own sign-up: checks the form, saves the user, logs in
      const card = user.cardId
        ? await loyalty.getCard(user.cardId)
        : await loyalty.issueCard(
            templateId,
            {
              fieldValues: { name },
              customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } },
            },
            { userId: user.id }, // sent twice within 24 hours, it is the same card
          );
      user.cardId = card.id; // from now on the card is known
      response.status(201).json({ userId: user.id, card, links: cardLinks(card) });
    } catch (error) {
      if (!isIssuingError(error)) return next(error);
      if (error.code === "validation") return void response.status(422).json({ message: error.userMessage });
      if (!error.retryable) console.error(error); // a wrong key, template or option: somebody has to look
      response.status(202).json({ message: error.userMessage }); // signed up; the card is issued at the next visit
    }
  };
}
// #endregion

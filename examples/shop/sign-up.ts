/** The shop's sign-up: saves the user, issues the card, and never fails because loyalty does. */
// #region sign-up
import { cardLinks, type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { RequestHandler } from "express";
import type { Users } from "./users.ts";

export function signUp(loyalty: IssuingClient, templateId: string, users: Users): RequestHandler {
  return async (request, response) => {
    const { name, email, phone } = request.body;
    const user = users.findOrCreate({ name, email });
    try {
      const card = await loyalty.issueCard(
        templateId,
        {
          fieldValues: { name },
          customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } },
        },
        { userId: user.id }, // the same user always gets the same card
      );
      user.cardId = card.id;
      response.status(201).json({ userId: user.id, card, links: cardLinks(card) });
    } catch (error) {
      if (!isIssuingError(error)) throw error;
      if (error.code === "validation") {
        response.status(422).json({ message: error.userMessage }); // safe to show
      } else {
        response.status(202).json({ userId: user.id, message: error.userMessage }); // signed up; the card comes later
      }
    }
  };
}
// #endregion

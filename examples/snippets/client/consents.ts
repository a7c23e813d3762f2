/** A consent to marketing that is given or withdrawn after the sign-up. */
// #region consent
import { type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import type { OwedCard, SqliteOutbox } from "@loyalty-cards/issuing-outbox";

const version = "2026-01-news"; // of the text beside the check box

/** @param request the form with `consents.marketing`, or without: a withdrawal. */
export const changeConsent = (
  outbox: SqliteOutbox,
  { userId, request }: OwedCard,
) =>
  outbox.write((database) => {
    outbox.correct(database, userId, request); // of a card that is not issued yet
    const isGiven = request.customer.consents.marketing ? 1 : 0;
    const update = "UPDATE users SET marketing = ?, unsent = 1 WHERE id = ?";
    database.prepare(update).run(isGiven, userId);
  });

/** Call it after `changeConsent`, after `onIssued`, and every minute. */
export async function sendConsents(outbox: SqliteOutbox, client: IssuingClient) {
  const select = `SELECT id, card, marketing FROM users
    WHERE unsent AND card IS NOT NULL`;
  const users = await outbox.write((database) => database.prepare(select).all());
  type User = { id: string; card: string; marketing: 0 | 1 };
  for (const { id, card, marketing } of users as User[]) {
    const given = { marketing: true, version };
    let unsent = 0;
    try {
      await client.setConsent(card, marketing ? given : { marketing: false });
    } catch (error) {
      console.error(`The consent of user ${id} was not sent:`, error);
      const { code, problem } = isIssuingError(error) ? error : {};
      const isDeleted = code === "not-found" && problem?.title; // not a gateway's 404
      if (!isDeleted) unsent = 1;
    }
    // This call may take effect after that of a newer wish.
    const update = "UPDATE users SET unsent = ? OR marketing <> ? WHERE id = ?";
    await outbox.write((database) =>
      database.prepare(update).run(unsent, marketing, id),
    );
  }
}
// #endregion

/** A user withdraws the consent to marketing, perhaps before the card is issued. */
// #region withdrawal
import type {
  IssueCardRequest,
  IssuingClient,
} from "@loyalty-cards/issuing-client";
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";

/** @param request the form without `consents.marketing`. */
export const withdraw = (
  outbox: SqliteOutbox,
  userId: string,
  request: IssueCardRequest,
) =>
  outbox.write((database) => {
    const isUnsent = outbox.correct(database, userId, request) === "accepted";
    const update = "UPDATE users SET marketing = 0, withdrawn = ? WHERE id = ?";
    database.prepare(update).run(Number(!isUnsent), userId);
  });

/** Call it after `onIssued`, after `withdraw`, and every minute. */
export async function sendWithdrawals(outbox: SqliteOutbox, client: IssuingClient) {
  const select = "SELECT id, card FROM users WHERE withdrawn AND card IS NOT NULL";
  const users = await outbox.write((database) => database.prepare(select).all());
  for (const { id, card } of users as { id: string; card: string }[]) {
    await client.setConsent(card, { marketing: false });
    const update = "UPDATE users SET withdrawn = 0 WHERE id = ?";
    await outbox.write((database) => database.prepare(update).run(id));
  }
}
// #endregion

/** Adds the users of a shop that issued cards without an outbox. */
// #region existing-users
import type {
  KnownCard,
  OwedCard,
  SqliteOutbox,
} from "@loyalty-cards/issuing-outbox";

interface ExistingUser {
  id: string;
  name: string;
  phone: string;
  /** Users with a card. */
  cardId?: string;
  /**
   * Users whose card was requested before: the last keySuffix, and the time of the
   * first request with it.
   */
  keySuffix?: string;
  firstAttemptAt?: Date;
}

function* toEntries(
  users: Iterable<ExistingUser>,
  template: string,
): Generator<OwedCard | KnownCard> {
  for (const { id: userId, name, phone, cardId, ...tried } of users) {
    const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
    if (cardId !== undefined) yield { userId, template, cardId };
    else
      yield {
        userId,
        template,
        request: { fieldValues: { name }, customer },
        ...tried,
      };
  }
}

/** Can be repeated: a user who has an entry keeps it. */
export const addExistingUsers = (
  outbox: SqliteOutbox,
  users: Iterable<ExistingUser>,
  template: string,
) => outbox.addAll(toEntries(users, template));
// #endregion

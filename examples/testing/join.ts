/** The code under test: the sign-up of this shop. */
// #region join
// join.ts
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";

export interface Member {
  id: string;
  name: string;
  phone: string; // may be blank
}

export type Joined = { cardId: string } | { correct: string } | { later: true };

export async function join(
  outbox: SqliteOutbox,
  template: string,
  { id, name, phone }: Member,
  deadlineMs = 5_000, // how long the visitor waits
): Promise<Joined> {
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  const request = { fieldValues: { name }, customer };
  await outbox.write((database) => {
    // save the member here, in the same transaction
    const state = outbox.add(database, { userId: id, template, request });
    // the form was sent again
    if (state !== "added") outbox.correct(database, id, request);
  });
  const { state, cardId, error } = await outbox.issue(id, { deadlineMs });
  if (cardId !== undefined) return { cardId };
  return state === "rejected"
    ? { correct: error?.userMessage ?? "" }
    : { later: true };
}
// #endregion

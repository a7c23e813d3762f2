/** An outbox file beside a database with which it cannot share a transaction, such as MySQL, MongoDB or Prisma on SQLite. */
import type { OwedCard } from "@loyalty-cards/issuing-outbox";

export interface User {
  id: string;
  name: string;
  phone: string;
}

const template = "tpl_coffee";

function toOwedCard({ id, name, phone }: User): OwedCard {
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  return { userId: id, template, request: { fieldValues: { name }, customer } };
}

// #region beside
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";

/** Your own database. */
export interface Users {
  save(user: User): Promise<void>;
  saveCard(userId: string, cardId: string): Promise<void>;
  withoutCard(): AsyncIterable<User>;
}

export async function signUp(users: Users, outbox: SqliteOutbox, user: User) {
  await users.save(user);
  // If the process is killed here, the user has no entry: sweep adds it.
  await outbox.write((database) => outbox.add(database, toOwedCard(user)));
  const entry = await outbox.issue(user.id, { deadlineMs: 5_000 });
  if (entry.cardId !== undefined) await users.saveCard(user.id, entry.cardId);
  return entry;
}

/** Adds users that have no entry, and saves cards that were issued later. */
export async function sweep(users: Users, outbox: SqliteOutbox): Promise<void> {
  for await (const user of users.withoutCard()) {
    await outbox.addAll([toOwedCard(user)]);
    const cardId = (await outbox.get(user.id))?.cardId;
    if (cardId !== undefined) await users.saveCard(user.id, cardId);
  }
}
// #endregion

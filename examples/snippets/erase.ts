/** Erases a person: outbox, inbox on each engine, and the shop's own tables. */
// #region erase
import type { SqliteDatabase, SqliteOutbox } from "@loyalty-cards/issuing-outbox";

export interface Person {
  userId: string;
  cardId?: string | undefined; // without a card there are no events
  customerId?: string | undefined; // of getCard, until the card is deleted
}

export async function erase(outbox: SqliteOutbox, person: Person) {
  const { userId, cardId } = person;
  await outbox.forget(userId);
  await outbox.write((database) => {
    // The shop's own tables: use the names of yours.
    database.prepare("DELETE FROM users WHERE id = ?").run(userId);
    if (!cardId) return;
    database.prepare("DELETE FROM balances WHERE cardId = ?").run(cardId);
    // The keys that your handlers pass to isNewest.
    const newest = "DELETE FROM webhook_inbox_newest WHERE key = ?";
    for (const value of ["balance", "tier", "consent"])
      database.prepare(newest).run(`${value} of ${cardId}`);
  });
}

/** Only with an inbox: `inbox.write((database) => eraseEvents(database, person))`. */
export function eraseEvents(database: SqliteDatabase, person: Person) {
  const bodies = "webhook_inbox_events_bodies";
  const events = `SELECT id FROM ${bodies} WHERE instr(body, ?)`;
  const ids = [person.cardId, person.customerId].filter(Boolean);
  for (const id of ids)
    for (const table of ["webhook_inbox_events", bodies])
      database
        .prepare(`DELETE FROM ${table} WHERE id IN (${events})`)
        .run(`"${id}"`);
}

// #endregion

import type { Queue } from "bullmq";
import type pg from "pg";

/** For pg-boss: `id` is that of the card, then of the customer. */
export const eraseJobs = (pool: pg.Pool, id: string, schema = "pgboss") =>
  pool.query(`DELETE FROM ${schema}.job WHERE strpos(data->>'body', $1) > 0`, [
    `"${id}"`,
  ]);

/** BullMQ. It throws while the event is processed: repeat it then. */
export async function eraseFromQueue(queue: Queue, id: string) {
  for (const job of await queue.getJobs())
    if (job.data.body.includes(`"${id}"`)) await job.remove();
}

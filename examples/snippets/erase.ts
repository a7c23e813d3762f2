/** Erases a person: outbox, inbox on each engine, and the shop's own tables. */
// #region erase
import type { SqliteDatabase, SqliteOutbox } from "@loyalty-cards/issuing-outbox";

/** `getCard` has the `customerId`, until the card is deleted. */
export type Person = Record<"userId" | "cardId" | "customerId", string>;

export async function erase(outbox: SqliteOutbox, person: Person) {
  const { userId, cardId } = person;
  await outbox.forget(userId);
  await outbox.write((database) => {
    // The shop's own tables: use the names of yours.
    database.prepare("DELETE FROM users WHERE id = ?").run(userId);
    database.prepare("DELETE FROM balances WHERE cardId = ?").run(cardId);
    // Of isNewest.
    const newest = "DELETE FROM webhook_inbox_newest WHERE instr(key, ?)";
    database.prepare(newest).run(cardId);
  });
}

/** Only with an inbox: `inbox.write((database) => eraseEvents(database, person))`. */
export function eraseEvents(database: SqliteDatabase, person: Person) {
  const { cardId, customerId } = person;
  const events = `SELECT id FROM webhook_inbox_events_bodies
    WHERE instr(body, ?) OR instr(body, ?)`;
  for (const table of ["webhook_inbox_events", "webhook_inbox_events_bodies"])
    database
      .prepare(`DELETE FROM ${table} WHERE id IN (${events})`)
      .run(`"${cardId}"`, `"${customerId}"`);
}

// #endregion

import type { Queue } from "bullmq";
import type pg from "pg";

/** pg-boss. @param id of the card, then of the customer. */
export const eraseJobs = (pool: pg.Pool, id: string, schema = "pgboss") =>
  pool.query(`DELETE FROM ${schema}.job WHERE strpos(data->>'body', $1) > 0`, [
    `"${id}"`,
  ]);

/** BullMQ. It throws while the event is processed: repeat it then. */
export async function eraseFromQueue(queue: Queue, id: string) {
  for (const job of await queue.getJobs())
    if (job.data.body.includes(`"${id}"`)) await job.remove();
}

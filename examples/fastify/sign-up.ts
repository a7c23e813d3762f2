/** The sign-up on several processes: the user and the owed card are saved in one transaction of PostgreSQL. */
import {
  createIssuingClient,
  type IssueCardRequest,
} from "@loyalty-cards/issuing-client";
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";
import { postgresOutbox } from "@loyalty-cards/issuing-outbox/postgres";
import type { FastifyInstance, FastifyReply } from "fastify";
import type pg from "pg";

interface Form {
  name: string;
  email?: string;
  phone?: string;
}

const toRequest = ({ name, email = "", phone = "" }: Form): IssueCardRequest => ({
  fieldValues: { name },
  // blank ones are left out
  customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } },
});

/**
 * Needs the tables of the outbox, from `ensureOutboxTables` or a migration, and your
 * table `users`.
 */
export function addSignUp(
  app: FastifyInstance,
  pool: pg.Pool,
  template: string,
): void {
  const outbox = postgresOutbox({
    client: createIssuingClient(), // reads LOYALTY_URL and LOYALTY_API_KEY
    pool,
    // In the transaction that records the card.
    onIssued: ({ userId, cardId }, transaction) =>
      transaction.query("UPDATE users SET card = $1 WHERE id = $2", [
        cardId,
        userId,
      ]),
  });
  outbox.work(); // issues the cards that could not be issued at sign-up
  app.addHook("onClose", () => outbox.close());

  app.post<{ Body: Form }>("/sign-up", async ({ body }, reply) => {
    // never repeats, not even in another database
    const userId = crypto.randomUUID();
    const isNew = await outbox.write(async (transaction) => {
      const insert = `INSERT INTO users VALUES ($1, $2, NULLIF($3, ''), $4)
          ON CONFLICT DO NOTHING`;
      const values = [userId, body.name, body.email ?? "", body.phone ?? ""];
      const { rowCount } = await transaction.query(insert, values);
      if (rowCount)
        await outbox.add(transaction, {
          userId,
          template,
          request: toRequest(body),
        });
      return rowCount;
    });
    if (!isNew)
      return reply.code(409).send({ message: "You have an account already." });
    return respond(reply, await outbox.issue(userId, { deadlineMs: 5_000 }));
  });

  // The corrected form. In a real shop the id comes from the session of the user.
  app.put<{ Body: Form; Params: { id: string } }>(
    "/users/:id",
    async ({ body, params: { id } }, reply) => {
      const correction = await outbox.write(async (transaction) => {
        const update = `UPDATE users SET name = $2, email = NULLIF($3, ''), phone = $4
          WHERE id = $1 AND card IS NULL`;
        const values = [id, body.name, body.email ?? "", body.phone ?? ""];
        const { rowCount } = await transaction.query(update, values);
        return rowCount
          ? outbox.correct(transaction, id, toRequest(body))
          : "absent";
      });
      if (correction === "absent" || correction === "issued")
        return reply.code(409).send({ message: "There is nothing to correct." });
      return respond(reply, await outbox.issue(id, { deadlineMs: 5_000 }));
    },
  );

  function respond(
    reply: FastifyReply,
    { userId, state, publicUrl, error }: OutboxEntry,
  ) {
    if (publicUrl !== undefined)
      return reply.code(201).send({ userId, cardPage: publicUrl });
    if (state === "rejected")
      return reply.code(422).send({
        userId,
        message: error?.userMessage,
        fields: error?.fields, // the page shows each detail beside its field
      });
    return reply
      .code(202)
      .send({ userId, message: "You are a member. Your card follows." });
  }
}

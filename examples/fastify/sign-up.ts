/** Sign-up on several processes: one PostgreSQL transaction saves the user and the owed card. */
// #region sign-up
// sign-up.ts
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import {
  ensureOutboxTables,
  type PostgresOutbox,
  postgresOutbox,
} from "@loyalty-cards/issuing-outbox/postgres";
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { type Form, schema, show, toRequest, toRow } from "./form.ts";

/** Creates the tables, or copy both into your own migrations. */
export async function createTables(database: pg.ClientBase): Promise<void> {
  await ensureOutboxTables(database);
  await database.query(`CREATE TABLE IF NOT EXISTS users (id text PRIMARY KEY,
    name text, email text UNIQUE, phone text, marketing boolean, card text)`);
}

export function addSignUp(
  app: FastifyInstance,
  client: IssuingClient,
  pool: pg.Pool,
  template: string,
): void {
  const outbox = postgresOutbox({
    client,
    pool,
    onIssued: ({ userId, cardId }, transaction) =>
      transaction.query("UPDATE users SET card = $2 WHERE id = $1", [
        userId,
        cardId,
      ]),
  });
  outbox.work();
  app.addHook("onClose", () => outbox.close());

  app.post<{ Body: Form }>("/sign-up", { schema }, async ({ body }, reply) => {
    const userId = crypto.randomUUID();
    const isNew = await outbox.write(async (transaction) => {
      const insert = `INSERT INTO users VALUES ($1, $2, NULLIF($3, ''), $4, $5)
        ON CONFLICT DO NOTHING`;
      const { rowCount } = await transaction.query(insert, toRow(userId, body));
      const request = toRequest(body);
      if (rowCount) await outbox.add(transaction, { userId, template, request });
      return rowCount;
    });
    if (!isNew) return reply.code(409).send({ message: "You have an account." });
    return show(reply, client, await outbox.issue(userId, { deadlineMs: 5_000 }));
  });
  addCorrection(app, client, outbox);
}
// #endregion

/** A request with the earlier form may run: the outbox continues to send that form. */
const mayRun = {
  message:
    "Your earlier form may still be processed. Please send this one again in ten minutes, or ask us.",
};

function addCorrection(
  app: FastifyInstance,
  client: IssuingClient,
  outbox: PostgresOutbox<pg.PoolClient>,
): void {
  // The corrected form. In a real shop the id comes from the session of the user.
  app.put<{ Body: Form; Params: { id: string } }>(
    "/users/:id",
    { schema },
    async ({ body, params: { id } }, reply) => {
      const result = await outbox.write(async (transaction) => {
        const others = "SELECT FROM users WHERE email = $1 AND id <> $2";
        const [, , email] = toRow(id, body);
        const { rowCount } = await transaction.query(others, [email, id]);
        if (rowCount) return "issued";
        // The entry before the user, as the outbox has them: else they could wait for each other.
        const state = await outbox.correct(transaction, id, toRequest(body));
        if (state !== "accepted") return state;
        const update = `UPDATE users SET name = $2, email = NULLIF($3, ''),
          phone = $4, marketing = $5 WHERE id = $1`;
        await transaction.query(update, toRow(id, body));
        return state;
      });
      if (result === "absent") return reply.code(404).send({});
      if (result === "issued")
        return reply.code(409).send({ message: "You have an account." });
      if (result !== "accepted") return reply.code(409).send(mayRun);
      return show(reply, client, await outbox.issue(id, { deadlineMs: 5_000 }));
    },
  );
}

/** The sign-up: the user and the owed card are saved in one transaction, and the card is shown if it is issued in time. */
// #region sign-up
// sign-up.ts
import type {
  IssueCardRequest,
  IssuingClient,
} from "@loyalty-cards/issuing-client";
import {
  type OutboxEntry,
  type SqliteOutbox,
  sqliteOutbox,
} from "@loyalty-cards/issuing-outbox";
import express, {
  type ErrorRequestHandler,
  type Express,
  type Response,
} from "express";

type Form = Record<"name" | "email" | "phone", string>;

/** The shop's users and the outbox are in one file. */
export async function openOutbox(
  client: IssuingClient,
  file: string,
): Promise<SqliteOutbox> {
  const outbox = sqliteOutbox({
    client,
    file,
    // In the transaction that records the card.
    onIssued({ userId, cardId }, database) {
      database
        .prepare("UPDATE users SET card = ? WHERE id = ?")
        .run(cardId, userId);
    },
  });
  const columns =
    "id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, phone TEXT, card TEXT";
  await outbox.write((database) =>
    database.exec(`CREATE TABLE IF NOT EXISTS users (${columns})`),
  );
  outbox.work(); // issues the cards that could not be issued at sign-up
  return outbox;
}

export function addSignUp(
  app: Express,
  client: IssuingClient,
  outbox: SqliteOutbox,
  template: string,
): void {
  app.use(express.json());
  // Express itself would log a body that is not JSON, and so a part of somebody's
  // form.
  app.use(((error, _request, response, next) =>
    error.type === "entity.parse.failed"
      ? response.status(400).json({ message: "The form is not JSON." })
      : next(error)) satisfies ErrorRequestHandler);

  app.post("/sign-up", async (request, response) => {
    const form = readForm(request.body);
    // never repeats, not even in another database
    const userId = crypto.randomUUID();
    const isNew = await outbox.write((database) => {
      const insert =
        // several users may have no email
        `INSERT INTO users VALUES (?, ?, NULLIF(?, ''), ?, NULL)
          ON CONFLICT DO NOTHING`;
      const { changes } = database
        .prepare(insert)
        .run(userId, form.name, form.email, form.phone);
      if (changes)
        outbox.add(database, { userId, template, request: toRequest(form) });
      return changes;
    });
    if (!isNew)
      return void response
        .status(409)
        .json({ message: "You have an account already." });
    respond(response, await outbox.issue(userId, { deadlineMs: 5_000 }));
  });

  // The corrected form. In a real shop the id comes from the session of the user.
  app.put("/users/:id", async (request, response) => {
    const form = readForm(request.body);
    const { id } = request.params;
    const correction = await outbox.write((database) => {
      const update = `UPDATE OR IGNORE users SET name = ?, email = NULLIF(?, ''), phone = ?
          WHERE id = ? AND card IS NULL`;
      const { changes } = database
        .prepare(update)
        .run(form.name, form.email, form.phone, id);
      return changes ? outbox.correct(database, id, toRequest(form)) : "absent";
    });
    if (correction === "absent" || correction === "issued")
      return void response
        .status(409)
        .json({ message: "There is nothing to correct, or the address is taken." });
    respond(response, await outbox.issue(id, { deadlineMs: 5_000 }));
  });

  function respond(
    response: Response,
    { userId, state, publicUrl, error }: OutboxEntry,
  ): void {
    if (publicUrl !== undefined)
      response.status(201).json({ userId, links: client.cardLinks(publicUrl) });
    else if (state === "rejected")
      response.status(422).json({
        userId,
        message: error?.userMessage,
        fields: error?.fields, // the page shows each detail beside its field
      });
    else
      response
        .status(202)
        .json({ userId, message: "You are a member. Your card follows." });
  }
}

function readForm(body: Partial<Form> | undefined): Form {
  const read = (name: keyof Form) =>
    `${typeof body?.[name] === "string" ? body[name] : ""}`.trim();
  return { name: read("name"), email: read("email"), phone: read("phone") };
}

const toRequest = ({ name, email, phone }: Form): IssueCardRequest => ({
  fieldValues: { name },
  // blank ones are left out
  customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } },
});
// #endregion

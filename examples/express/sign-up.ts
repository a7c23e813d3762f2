/**
 * The sign-up: the user and the owed card are saved in one transaction, and the card is shown if it
 * is issued in time.
 */
// #region sign-up
// sign-up.ts
import type {
  IssueCardRequest,
  IssuingClient,
} from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import express from "express";
import { type Form, readForm, show, toRow } from "./form.ts";

const users = `CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, name TEXT,
  email TEXT UNIQUE COLLATE NOCASE, phone TEXT, marketing INTEGER, card TEXT)`;

/** The email address is that of a member. */
const isMember = {
  message: "You are a member already.",
  fields: [{ pointer: "/email" }],
};

/** A request with the earlier form may run: the outbox continues to send that form. */
const mayRun = {
  message:
    "Your earlier form may still be processed. Please send this one again in ten minutes, or ask us.",
};

/** The users and the outbox are in one file. */
export async function openOutbox(
  client: IssuingClient,
  file: string,
  log?: (line: string) => void,
) {
  const outbox = sqliteOutbox({
    client,
    file,
    ...(log && { log }), // default: console.error
    // In the transaction that records the card.
    onIssued({ userId, cardId }, database) {
      const update = "UPDATE users SET card = ? WHERE id = ?";
      database.prepare(update).run(cardId, userId);
    },
  });
  await outbox.write((database) => database.exec(users));
  outbox.work(); // issues the cards that could not be issued at sign-up
  return outbox;
}

export function createSignUp(
  client: IssuingClient,
  outbox: Awaited<ReturnType<typeof openOutbox>>,
  template: string,
) {
  const router = express.Router();

  router.post("/sign-up", async ({ body }, response) => {
    const form = readForm(body);
    const userId = crypto.randomUUID(); // repeats in no database
    const isNew = await outbox.write((database) => {
      const insert = `INSERT INTO users VALUES (?, ?, NULLIF(?, ''), ?, ?, NULL)
        ON CONFLICT DO NOTHING`; // several users may have no email
      const { changes } = database.prepare(insert).run(userId, ...toRow(form));
      if (changes)
        outbox.add(database, { userId, template, request: toRequest(form) });
      return changes;
    });
    if (!isNew) return void response.status(409).json(isMember);
    show(response, client, await outbox.issue(userId, { deadlineMs: 5_000 }));
  });

  // The corrected form. A real shop takes the id from a session.
  router.put("/users/:id", async ({ body, params: { id } }, response) => {
    const form = readForm(body);
    const result = await outbox.write((database) => {
      const others = "SELECT 1 FROM users WHERE email = ? AND id <> ?";
      if (database.prepare(others).get(form.email, id)) return "issued";
      const state = outbox.correct(database, id, toRequest(form));
      const update = `UPDATE users SET name = ?, email = NULLIF(?, ''), phone = ?,
        marketing = ? WHERE id = ?`;
      if (state === "accepted") database.prepare(update).run(...toRow(form), id);
      return state;
    });
    if (result === "absent") return void response.status(404).json({});
    if (result === "issued") return void response.status(409).json(isMember);
    if (result !== "accepted") return void response.status(409).json(mayRun);
    show(response, client, await outbox.issue(id, { deadlineMs: 5_000 }));
  });

  return router;
}

function toRequest({ optedIn, ...customer }: Form): IssueCardRequest {
  const consents = {
    privacy: { version: "2026-01" },
    ...(optedIn && { marketing: { version: "2026-01-news" } }),
  };
  const fieldValues = { name: customer.name };
  // Blank values are left out.
  return { fieldValues, customer: { ...customer, consents } };
}
// #endregion

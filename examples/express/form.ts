/** The form of the sign-up: how it is read and saved, and what the visitor sees. */
import type { IssuingClient } from "@loyalty-cards/issuing-client";
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";
import type { Response } from "express";

export type Form = ReturnType<typeof readForm>;

export function readForm(body: Record<string, unknown> = {}) {
  const read = (value: unknown) => (typeof value === "string" ? value.trim() : "");
  return {
    name: read(body.name),
    email: read(body.email),
    phone: read(body.phone),
    optedIn: body.marketing === true,
  };
}

export const toRow = (form: Form) =>
  [form.name, form.email, form.phone, Number(form.optedIn)] as const;

/** Responds with the card, with what to correct, or that the card follows. */
export function show(
  response: Response,
  client: IssuingClient,
  entry: OutboxEntry,
): void {
  const { userId, state, publicUrl, error } = entry;
  const [status, body] =
    publicUrl !== undefined
      ? [201, { links: client.cardLinks(publicUrl) }]
      : state === "rejected" // the page shows the detail of each field beside its input
        ? [422, { message: error?.userMessage, fields: error?.fields }]
        : [202, { message: "You are a member. Your card is on its way." }];
  response.status(status).json({ userId, ...body });
}

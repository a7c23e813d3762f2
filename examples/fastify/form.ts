/**
 * The form of the sign-up: what Fastify validates, what is saved, what the service gets, and what
 * the visitor sees.
 */
import type {
  IssueCardRequest,
  IssuingClient,
} from "@loyalty-cards/issuing-client";
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";
import type { FastifyReply } from "fastify";

export interface Form {
  name: string;
  email?: string;
  phone?: string;
  marketing?: boolean;
}

const text = { type: "string" };
const properties = {
  name: text,
  email: text,
  phone: text,
  marketing: { type: "boolean" },
};
/** For the routes: Fastify responds 400 to a body that is not a form. */
export const schema = { body: { type: "object", required: ["name"], properties } };

export const toRow = (
  id: string,
  { name, email = "", phone = "", marketing }: Form,
) => [id, name, email.toLowerCase(), phone, marketing === true];

export const toRequest = ({ name, email = "", phone = "", marketing }: Form) =>
  ({
    fieldValues: { name },
    // Blank values are left out.
    customer: {
      name,
      email,
      phone,
      consents: {
        privacy: { version: "2026-01" },
        ...(marketing && { marketing: { version: "2026-01-news" } }),
      },
    },
  }) satisfies IssueCardRequest;

/** The response: the card, what to correct, or that the card follows. */
export function show(
  reply: FastifyReply,
  client: IssuingClient,
  entry: OutboxEntry,
) {
  const { userId, state, publicUrl, error } = entry;
  const [status, body] =
    publicUrl !== undefined
      ? [201, { links: client.cardLinks(publicUrl) }]
      : state === "rejected" // the page shows the detail of each field beside its input
        ? [422, { message: error?.userMessage, fields: error?.fields }]
        : [202, { message: "You are a member. Your card is on its way." }];
  return reply.code(status).send({ userId, ...body });
}

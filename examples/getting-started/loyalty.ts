/** The shop of the guide "Getting started", without a framework: the sign-up, and the webhook handlers. */
// #region loyalty
// loyalty.ts
import { createIssuingClient, type IssuingClient, isIssuingError } from "@loyalty-cards/issuing-client";
import { memoryDedupe, onEvents, type ReceiverOptions } from "@loyalty-cards/webhook-verify";

interface User {
  id: string;
  name: string;
  email: string;
  cardId?: string;
  keySuffix?: string;
}

export interface Form {
  name?: string;
  email?: string;
  phone?: string;
}

// Use two tables of a database instead.
// These are global variables, because Next loads a module more than once.
const memory = globalThis as { users?: User[]; balances?: Map<string, number> };
memory.users ??= [];
memory.balances ??= new Map();
const { users, balances } = memory; // the balances by the id of the card

let client: IssuingClient | undefined;

/** Created at the first request, because a build has no LOYALTY_URL and no LOYALTY_API_KEY. */
function loyalty(): IssuingClient {
  client ??= createIssuingClient({
    deadlineMs: 5_000, // the longest time that a visitor waits
  });
  return client;
}

export async function signUp({ name = "", email = "", phone = "" }: Form) {
  // A real shop asks an existing user for the password.
  let user = users.find((each) => email !== "" && each.email === email);
  if (user === undefined) {
    user = { id: crypto.randomUUID(), name, email };
    users.push(user); // before the card: its key is derived from the user's id
  }
  try {
    const card = user.cardId
      ? await loyalty().getCard(user.cardId)
      : await loyalty().issueCard(
          process.env.LOYALTY_TEMPLATE_ID ?? "",
          {
            fieldValues: { name },
            // Blank values are omitted.
            customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } },
          },
          // With the same id and key suffix within 24 hours: the same card.
          { userId: user.id, ...(user.keySuffix && { keySuffix: user.keySuffix }) },
        );
    user.cardId = card.id;
    return { status: 201, body: { user, links: loyalty().cardLinks(card) } };
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    if (error.code === "validation") {
      // The corrected form needs a new key.
      if (error.outcome === "rejected") user.keySuffix = crypto.randomUUID();
      return { status: 422, body: { message: error.userMessage } };
    }
    console.error(error);
    // Signed up; a job issues the card later.
    return { status: 202, body: { user, message: error.userMessage } };
  }
}

export const listUsers = () =>
  users.map((user) => ({ ...user, balance: balances.get(user.cardId ?? "") ?? 0 }));

export const webhooks = {
  secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
  dedupe: memoryDedupe(),
  handler: onEvents({
    "balance.changed": ({ data }) => {
      // The event can arrive before signUp has stored the card's id,
      // and an older event can arrive later.
      balances.set(data.passId, data.balance);
    },
    otherTypes: () => {}, // types that this shop does not use
  }),
} satisfies ReceiverOptions;
// #endregion

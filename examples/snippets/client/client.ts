/**
 * A client behind a proxy, and what follows a sign-up: the card as HTML, what is wrong beside each
 * input of a form, and a form that is corrected without an outbox.
 */
// #region links
import { cardLinks, qrCodeSvg } from "@loyalty-cards/issuing-client/links";

/** The addresses need no escaping: they have no quotes and no spaces. */
export function showCard(publicUrl: string): string {
  const links = cardLinks(publicUrl);
  return `${qrCodeSvg(publicUrl)}
    <a href="${links.addToFirstWallet}">
      <img src="${links.firstWalletButton}" alt="Add to Apple Wallet" height="48">
    </a>
    <a href="${links.addToSecondWallet}">
      <img src="${links.secondWalletButton}" alt="Add to Google Wallet" height="48">
    </a>`;
}

// #endregion

// #region field-messages
import { isIssuingError } from "@loyalty-cards/issuing-client";

/**
 * The message for each input, by the JSON Pointer of its value: `/customer/phone`,
 * `/fieldValues/name`.
 */
export function toFieldMessages(error: unknown): Map<string, string> {
  if (!isIssuingError(error) || error.code !== "validation") throw error;
  return new Map(
    error.fields.map(({ pointer, detail }) => [
      pointer,
      detail ?? "Please check this value.",
    ]),
  );
}

// #endregion

import type { IssuingClient } from "@loyalty-cards/issuing-client";

export interface User {
  id: string;
  name: string;
  phone: string;
  cardId?: string;
  keySuffix?: string; // undefined until the service has rejected the form
}

/**
 * Corrects a form after a 422, for a service that may store a 422 under its
 * idempotency key. Issues the card and stores its id in the user.
 * @returns what the visitor has to correct.
 */
export async function issueCardOrCorrect(
  loyalty: IssuingClient,
  templateId: string,
  user: User,
): Promise<string | undefined> {
  const { id: userId, name, phone, keySuffix } = user;
  const customer = { name, phone, consents: { privacy: { version: "2026-01" } } };
  try {
    const card = await loyalty.issueCard(
      templateId,
      { fieldValues: { name }, customer },
      { userId, ...(keySuffix !== undefined && { keySuffix }) },
    );
    user.cardId = card.id;
    return undefined;
  } catch (error) {
    if (!isIssuingError(error) || error.code !== "validation") throw error;
    // Only after a received 422, when no card exists under this key. After any
    // other error keep the key suffix.
    if (error.outcome === "rejected") user.keySuffix = crypto.randomUUID();
    return error.userMessage;
  }
}

// #region undici
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { EnvHttpProxyAgent, fetch as undiciFetch } from "undici";

const dispatcher = new EnvHttpProxyAgent(); // HTTP_PROXY, HTTPS_PROXY, NO_PROXY

export const loyalty = createIssuingClient({
  fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }),
});

// #endregion

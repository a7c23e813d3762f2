/** A sign-up form in the visitor's language: labels, errors, buttons and the QR code. */
// #region texts
import type {
  IssuingErrorCode,
  RejectedField,
} from "@loyalty-cards/issuing-client";

/** A code or a reason without a text is an error of the compiler. */
interface Texts {
  labels: Record<"name" | "phone" | "submit", string>;
  errors: Record<IssuingErrorCode, string>;
  fields: Record<RejectedField["reason"], string>;
  wallets: { first: string; second: string };
  qrCode: string;
}

const later = "Twoja karta pojawi się wkrótce.";
const shop = "Nie możemy teraz wydać karty. Zapytaj w sklepie.";

export const polish: Texts = {
  labels: { name: "Imię", phone: "Telefon", submit: "Dołącz" },
  errors: {
    validation: "Popraw zaznaczone pola.",
    "rate-limited": later,
    server: later,
    network: later,
    timeout: later,
    deadline: later,
    conflict: later,
    "invalid-response": later,
    "idempotency-mismatch": later,
    "idempotency-expired": shop,
    rejected: shop,
    "not-found": shop,
    unauthorized: shop,
    forbidden: shop,
    configuration: shop,
  },
  fields: {
    required: "To pole jest wymagane.",
    format: "Sprawdź, czy to pole jest poprawne.",
    type: "Sprawdź, czy to pole jest poprawne.",
    "too-long": "Ten tekst jest za długi.",
  },
  wallets: { first: "Dodaj do Apple Wallet", second: "Dodaj do Google Wallet" },
  qrCode: "Kod QR karty",
};

// #endregion

// #region form
import {
  type Card,
  createIssuingClient,
  type IssuingError,
} from "@loyalty-cards/issuing-client";
import { qrCodeSvg, walletButtonsHtml } from "@loyalty-cards/issuing-client/links";

/** One client per language: its errors have these texts. */
export const createClient = (language: string, { errors }: Texts) =>
  createIssuingClient({
    messages: errors,
    headers: { "accept-language": language },
  });

const inputs = { name: "/fieldValues/name", phone: "/customer/phone" } as const;

export function showForm({ labels, fields }: Texts, error?: IssuingError): string {
  const rows = Object.entries(inputs).map(([name, pointer]) => {
    const rejected = error?.fields.find((field) => field.pointer === pointer);
    const message = rejected ? ` <em>${fields[rejected.reason]}</em>` : "";
    const label = labels[name as keyof typeof inputs];
    return `<label>${label} <input name="${name}">${message}</label>`;
  });
  const summary = error ? `<p role="alert">${error.userMessage}</p>` : "";
  const button = `<button>${labels.submit}</button>`;
  return `<form method="post">${summary}${rows.join("")}${button}</form>`;
}

export const showCard = (card: Card, { wallets, qrCode }: Texts): string =>
  walletButtonsHtml(card, { labels: wallets }) + qrCodeSvg(card, { label: qrCode });
// #endregion

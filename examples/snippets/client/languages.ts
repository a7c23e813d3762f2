/** A sign-up form in the visitor's language: labels, errors, buttons and the QR code. */
// #region texts
import type {
  IssuingErrorCode,
  RejectedField,
} from "@loyalty-cards/issuing-client";

type Input = "name" | "email" | "phone" | "privacy" | "marketing";

/** Complete: a code or a reason without a text does not compile. */
export interface Texts {
  labels: Record<Input | "submit", string>;
  errors: Record<IssuingErrorCode, string>;
  fields: Record<RejectedField["reason"], string>;
  /** Of an outbox, which continues without the visitor. */
  follows: string;
  wallets: { first: string; second: string };
  qrCode: string;
}

/** Fifteen codes, three texts. */
const toErrors = (
  invalid: string,
  later: string,
  shop: string,
): Texts["errors"] => ({
  validation: invalid,
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
});

const english: Texts = {
  labels: {
    name: "Name",
    email: "Email",
    phone: "Phone",
    privacy: "I accept the privacy policy.",
    marketing: "I want news and offers.",
    submit: "Join",
  },
  errors: toErrors(
    "Please correct the marked fields.",
    "We cannot issue your card now. Please try again later.",
    "We cannot issue your card now. Please ask in the shop.",
  ),
  fields: {
    required: "This field is required.",
    format: "Please check this field.",
    type: "This value cannot be used here.",
    "too-long": "This text is too long.",
  },
  follows: "Welcome! Your card will appear soon.",
  wallets: { first: "Add to Apple Wallet", second: "Add to Google Wallet" },
  qrCode: "QR code of the card",
};

const polish: Texts = {
  labels: {
    name: "Imię",
    email: "E-mail",
    phone: "Telefon",
    privacy: "Akceptuję politykę prywatności.",
    marketing: "Chcę otrzymywać nowości i oferty.",
    submit: "Dołącz",
  },
  errors: toErrors(
    "Popraw zaznaczone pola.",
    "Nie możemy teraz wydać karty. Spróbuj ponownie później.",
    "Nie możemy teraz wydać karty. Zapytaj w sklepie.",
  ),
  fields: {
    required: "To pole jest wymagane.",
    format: "Sprawdź to pole.",
    type: "Tej wartości nie można tu użyć.",
    "too-long": "Ten tekst jest za długi.",
  },
  follows: "Witamy! Twoja karta pojawi się wkrótce.",
  wallets: { first: "Dodaj do Apple Wallet", second: "Dodaj do Google Wallet" },
  qrCode: "Kod QR karty",
};

export const texts = { en: english, pl: polish };

// #endregion

// #region form
import {
  createIssuingClient,
  type IssueCardOptions,
  type IssuingClient,
  isIssuingError,
} from "@loyalty-cards/issuing-client";
import { qrCodeSvg, walletButtonsHtml } from "@loyalty-cards/issuing-client/links";

type Language = keyof typeof texts;

/** One client per language: its errors have the texts of that language. */
export function createClients(): Record<Language, IssuingClient> {
  const create = (language: Language) =>
    createIssuingClient({
      messages: texts[language].errors,
      headers: { "accept-language": language },
    });
  return { en: create("en"), pl: create("pl") };
}

/** Issues a card. @returns the card, or the form with its errors, as HTML. */
export async function signUp(
  request: Request,
  clients: Record<Language, IssuingClient>,
  options: IssueCardOptions,
): Promise<string> {
  const accepted = request.headers.get("accept-language") ?? "";
  // The first language of the header is the one that the visitor prefers.
  const language = /^\s*pl\b/i.test(accepted) ? "pl" : "en";
  const form = await request.formData();
  const read = (name: Input) => String(form.get(name) ?? "");
  const name = read("name");
  const version = read("privacy");
  const marketing = read("marketing");
  // The client sends no request without the version of the accepted policy.
  if (version === "") {
    const fields = [{ pointer: "/customer/consents", reason: "required" }] as const;
    const userMessage = texts[language].errors.validation;
    const rejection = { code: "validation", userMessage, fields };
    return showForm(texts[language], rejection, form);
  }
  const consents = {
    privacy: { version },
    ...(marketing && { marketing: { version: marketing } }),
  };
  const customer = { name, email: read("email"), phone: read("phone"), consents };
  const signUp = { fieldValues: { name }, customer };
  try {
    const card = await clients[language].issueCard("tpl_coffee", signUp, options);
    return showCard(card, texts[language]);
  } catch (error) {
    if (isIssuingError(error)) return showForm(texts[language], error, form);
    throw error;
  }
}

/** The pointers of the values that an input sends. */
const pointers: Record<Input, RegExp> = {
  name: /^\/(fieldValues|customer)\/name$/,
  email: /^\/customer\/email$/,
  phone: /^\/customer\/phone$/,
  privacy: /^\/customer\/consents(\/privacy|$)/,
  marketing: /^\/customer\/consents\/marketing/,
};

const checkbox = 'type="checkbox" value="2026-01"'; // the version of the consent

export interface Rejection {
  code: string;
  userMessage: string;
  fields: readonly Pick<RejectedField, "pointer" | "reason">[];
}

const escapeHtml = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** @param sent the form that was rejected: it keeps its values. */
export function showForm(
  { labels, fields, errors }: Texts,
  rejection?: Rejection,
  sent?: FormData,
): string {
  const toRow = (name: Input, attributes = "") => {
    const rejected = rejection?.fields.find(({ pointer }) =>
      pointers[name].test(pointer),
    );
    const message = rejected ? ` <em>${fields[rejected.reason]}</em>` : "";
    const input = `<input name="${name}" ${attributes}>`;
    return `<label>${labels[name]} ${input}${message}</label>`;
  };
  const toText = (name: Input) =>
    toRow(name, `value="${escapeHtml(String(sent?.get(name) ?? ""))}"`);
  const toCheckbox = (name: Input) =>
    toRow(name, `${checkbox}${sent?.get(name) ? " checked" : ""}`);
  const rows = [
    ...(["name", "email", "phone"] as const).map(toText),
    ...(["privacy", "marketing"] as const).map(toCheckbox),
  ].join(" ");
  // The template can require what the form does not have: then no field is marked.
  const isUnmarked = rejection?.code === "validation" && !rows.includes("<em>");
  const text = isUnmarked ? errors.rejected : rejection?.userMessage;
  const summary = text ? `<p role="alert">${text}</p>` : "";
  return `<form method="post">${summary} ${rows}
    <button>${labels.submit}</button></form>`;
}

const showCard = (
  card: { publicUrl: string },
  { wallets, qrCode }: Texts,
): string =>
  walletButtonsHtml(card, { labels: wallets }) + qrCodeSvg(card, { label: qrCode });

// #endregion

// #region outbox
import type { OutboxEntry } from "@loyalty-cards/issuing-outbox";

/** The page for an entry that `outbox.issue` or `outbox.get` returned. */
export function showEntry(entry: OutboxEntry, language: Language, sent?: FormData) {
  const { publicUrl, state, error } = entry;
  const own = texts[language];
  if (publicUrl !== undefined) return showCard({ publicUrl }, own);
  if (state !== "rejected" || error === undefined) return `<p>${own.follows}</p>`;
  const { code, fields } = error;
  const kind = code === "validation" ? "validation" : "rejected";
  return showForm(own, { code, userMessage: own.errors[kind], fields }, sent);
}
// #endregion

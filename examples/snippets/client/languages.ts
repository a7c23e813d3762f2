/** Shows the errors of the client in the visitor's language. */
// #region languages
import type { IssuingError, IssuingErrorCode } from "@loyalty-cards/issuing-client";

const later = "Nie możemy teraz wydać karty. Spróbuj ponownie później.";

/** A code without a text has the general English sentence. */
const polish: Partial<Record<IssuingErrorCode, string>> = {
  validation: "Popraw formularz.",
  "rate-limited": later,
  server: later,
  network: later,
  timeout: later,
  deadline: later,
};
const textsByLanguage = { en: {} as typeof polish, pl: polish };

/** @param error an error of the client, or the `error` of an outbox entry. */
export function toMessage(
  error: Pick<IssuingError, "code" | "userMessage">,
  language: keyof typeof textsByLanguage,
): string {
  const texts = textsByLanguage[language];
  return texts[error.code] ?? error.userMessage;
}
// #endregion

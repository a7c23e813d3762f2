/** Handles each kind of error in a sign-up, and shows the errors in the visitor's language. */
// #region failures
import { isIssuingError } from "@loyalty-cards/issuing-client";

export type NextMove =
  | { show: string }
  | { tryAgainLater: true }
  | { callADeveloper: string };

export function nextMoveAfter(error: unknown): NextMove {
  if (!isIssuingError(error)) throw error;
  if (error.code === "validation") return { show: error.userMessage };
  // with the same userId, so there is no second card
  if (error.retryable) return { tryAgainLater: true };
  return { callADeveloper: error.message };
}

// #endregion

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

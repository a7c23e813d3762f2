/** Handles each kind of error in a sign-up. */
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

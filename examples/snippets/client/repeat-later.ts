/** Decides after a failed call whether a job repeats it, and when. */
// #region repeat-later
import { isIssuingError } from "@loyalty-cards/issuing-client";

/** For the job that issues a card: the same user id gives the same key, so there is one card. */
export function planNextCall(error: unknown): { cardId: string } | { delaySeconds: number } {
  if (!isIssuingError(error)) throw error;
  if (error.cardId !== undefined) return { cardId: error.cardId }; // the card exists: store its id
  if (!error.retryable) throw error; // has to be corrected first: send an alert
  return { delaySeconds: Math.ceil((error.retryAfterMs ?? 60_000) / 1_000) };
}
// #endregion

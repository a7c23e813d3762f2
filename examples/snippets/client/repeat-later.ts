/** Decides after a failed call whether a job repeats it, and when. */
// #region repeat-later
import { isIssuingError } from "@loyalty-cards/issuing-client";

type NextCall = { cardId: string } | { delaySeconds: number };

/** For a job that repeats the call with the same user id. */
export function planNextCall(error: unknown): NextCall {
  if (!isIssuingError(error)) throw error;
  const { cardId, retryable, retryAfterMs = 60_000 } = error;
  if (cardId !== undefined) return { cardId }; // it exists: store the id
  if (!retryable) throw error; // send an alert
  return { delaySeconds: Math.ceil(retryAfterMs / 1_000) };
}
// #endregion

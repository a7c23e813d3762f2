/** Decides what the end of an attempt means for its entry. */
import { issuingErrorBrand } from "@loyalty-cards/internal/issuing-steps";
import type { Card, IssuingError } from "@loyalty-cards/issuing-client";
import { isStorable } from "./add.ts";
import type { PauseReason } from "./entry.ts";
import type { LeasedEntry } from "./lease.ts";

/** How long an attempt without a response may still be running at the service. A 409 after this time has another cause. */
export const maxRunningMs = 10 * 60_000;

export type AttemptEnd =
  | { card: Pick<Card, "id" | "publicUrl"> }
  | { error: unknown; status: number | undefined };

export type Verdict =
  | { type: "issued"; cardId: string; publicUrl?: string }
  /** Final, until the form is corrected. */
  | { type: "rejected"; code: string; error: IssuingError }
  /** Only a person can find out whether a card exists. */
  | { type: "unknown"; code: string; error: unknown }
  | {
      type: "waiting";
      code: string;
      error: unknown;
      /** The service may have received this request. */
      isReceived: boolean;
      /** The reason for a pause of all entries, of this template, or of this process. */
      pause: PauseReason | undefined;
      retryAfterMs: number | undefined;
      isInternalError: boolean;
      /** The response shows that the service processes requests, which ends a pause. */
      isProcessed: boolean;
    };

export function judge(end: AttemptEnd, entry: LeasedEntry, nowMs: number): Verdict {
  if ("card" in end) {
    const { id: cardId, publicUrl } = end.card;
    if (isStorable(cardId, 255) && isStorable(publicUrl, 2_000)) return { type: "issued", cardId, publicUrl };
    const error = new Error("The service returned a card whose id or address cannot be stored.");
    return wait(error, "invalid-response", true, undefined, true);
  }
  const { error, status } = end;
  if (!isIssuingError(error)) return wait(error, "aborted", true);
  const { code, outcome, cardId, retryAfterMs } = error;
  if (cardId !== undefined && isStorable(cardId, 255)) return { type: "issued", cardId };
  const isReceived = outcome === "unknown";
  switch (code) {
    case "validation":
      return { type: "rejected", code, error };
    case "not-found":
      return wait(error, code, false, "template-not-found");
    case "unauthorized":
    case "forbidden":
    case "configuration":
      return wait(error, code, false, "unauthorized");
    case "idempotency-expired":
      return { type: "unknown", code, error };
    case "idempotency-mismatch":
      return wait(error, code, false); // a call of the program itself is running with this key
    case "conflict":
      if (!error.retryable) return { type: "rejected", code, error };
      return isStillRunning(entry, nowMs) ? wait(error, code, false) : { type: "unknown", code, error };
    case "invalid-response":
      // After a 202 without a card the service is available, and issues the card later.
      return wait(error, code, true, status === 202 ? undefined : "outage", status === 202);
    case "rate-limited":
      return wait(error, code, false, retryAfterMs === undefined ? undefined : "rate-limited");
    default:
      if (error.retryable || isReceived || outcome === "not-sent")
        return wait(error, code, isReceived, "outage");
      // An earlier attempt may have issued the card, so this response does not end the entry.
      return entry.firstAttemptAtMs === undefined
        ? { type: "rejected", code, error }
        : wait(error, code, false);
  }
}

/** Checks the brand of the error. The client is imported for its types only, so that the first error on an old Node.js is that of this package. */
const isIssuingError = (error: unknown): error is IssuingError =>
  typeof error === "object" && error !== null && issuingErrorBrand in error;

/** Whether an earlier attempt got no response, and may still be running at the service. */
export const isStillRunning = ({ lastAttemptAtMs }: LeasedEntry, nowMs: number): boolean =>
  lastAttemptAtMs !== undefined && nowMs - lastAttemptAtMs < maxRunningMs;

function wait(
  error: unknown,
  code: string,
  isReceived: boolean,
  pause?: PauseReason,
  isProcessed = (error as { status?: number }).status !== undefined &&
    (pause === undefined || pause === "template-not-found"),
): Verdict {
  const { status, retryAfterMs } = error as { status?: number; retryAfterMs?: number };
  const isInternalError = status === 500;
  return { type: "waiting", code, error, isReceived, pause, retryAfterMs, isInternalError, isProcessed };
}

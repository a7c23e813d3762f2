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
    return wait(error, { code: "invalid-response", isReceived: true, isProcessed: true });
  }
  const { error, status } = end;
  if (!isIssuingError(error)) return wait(error, { code: "aborted", isReceived: true });
  const { code, outcome, cardId, retryAfterMs } = error;
  if (cardId !== undefined && isStorable(cardId, 255)) return { type: "issued", cardId };
  const isReceived = outcome === "unknown";
  switch (code) {
    case "validation":
      return { type: "rejected", code, error };
    case "not-found":
      return wait(error, { code, isReceived: false, pause: "template-not-found" });
    case "unauthorized":
    case "forbidden":
    case "configuration":
      return wait(error, { code, isReceived: false, pause: "unauthorized" });
    case "idempotency-expired":
      return { type: "unknown", code, error };
    case "conflict":
      if (!error.retryable) return { type: "rejected", code, error };
      return isStillRunning(entry, nowMs)
        ? wait(error, { code, isReceived: false })
        : { type: "unknown", code, error };
    case "invalid-response":
      // After a 202 without a card the service is available, and issues the card later.
      return status === 202
        ? wait(error, { code, isReceived: true, isProcessed: true })
        : wait(error, { code, isReceived: true, pause: "outage" });
    case "rate-limited":
      return wait(error, {
        code,
        isReceived: false,
        pause: retryAfterMs === undefined ? undefined : "rate-limited",
      });
    default:
      if (error.retryable || isReceived || outcome === "not-sent")
        return wait(error, { code, isReceived, pause: "outage" });
      // An earlier attempt may have issued the card, so this response does not end the entry.
      return entry.firstAttemptAtMs === undefined
        ? { type: "rejected", code, error }
        : wait(error, { code, isReceived: false });
  }
}

/** Checks the brand of the error. The client is imported for its types only, so that the first error on an old Node.js is that of this package. */
const isIssuingError = (error: unknown): error is IssuingError =>
  typeof error === "object" && error !== null && issuingErrorBrand in error;

/** Whether an earlier attempt got no response, and may still be running at the service. */
export const isStillRunning = ({ lastAttemptAtMs }: LeasedEntry, nowMs: number): boolean =>
  lastAttemptAtMs !== undefined && nowMs - lastAttemptAtMs < maxRunningMs;

type Waiting = Extract<Verdict, { type: "waiting" }>;

interface WaitOptions extends Pick<Waiting, "code" | "isReceived"> {
  pause?: PauseReason | undefined;
  /** Default: true after an error response that begins no pause of everything. */
  isProcessed?: boolean;
}

function wait(error: unknown, options: WaitOptions): Waiting {
  const { status, retryAfterMs } = error as { status?: number; retryAfterMs?: number };
  const { code, isReceived, pause } = options;
  const isPausedForAll = pause !== undefined && pause !== "template-not-found";
  const { isProcessed = status !== undefined && !isPausedForAll } = options;
  const isInternalError = status === 500;
  return { type: "waiting", code, error, isReceived, pause, retryAfterMs, isInternalError, isProcessed };
}

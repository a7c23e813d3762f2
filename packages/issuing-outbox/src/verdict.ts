/** Decides what the end of an attempt means for its entry. */
import { generalUserMessage, issuingErrorBrand } from "@loyalty-cards/internal/issuing-steps";
import type { LeasedJob } from "@loyalty-cards/internal/jobs/jobs";
import type { Card, IssuingError } from "@loyalty-cards/issuing-client";
import { isStorable, type OutboxEntryError, type StoredCard } from "./entry.ts";

/** How long an attempt without a response may still be running at the service. A 409 after this time has another cause. */
export const maxRunningMs = 10 * 60_000;

export type AttemptEnd = { card: Pick<Card, "id" | "publicUrl"> } | { error: unknown };

export type Verdict =
  | { type: "issued"; card: StoredCard }
  /** Final, until the form is corrected. */
  | { type: "rejected"; error: OutboxEntryError }
  /** Only a person can find out whether a card exists. */
  | { type: "unknown"; error: OutboxEntryError }
  | {
      type: "again";
      error: OutboxEntryError;
      /** Whether no card can come from this attempt. */
      hasNoEffect: boolean;
      /** A failure counts toward the pause of the template, and a response ends it. Undefined when the attempt says nothing of the service. */
      service: "fails" | "works" | undefined;
      retryAfterMs: number | undefined;
    };

/** The codes of failures of the service or of the way to it. */
const failures: readonly string[] = [
  "network",
  "timeout",
  "deadline",
  "server",
  "rate-limited",
  "unauthorized",
  "forbidden",
  "not-found",
  "configuration",
  "invalid-response",
];

/** @param isVisitor whether the deadline is that of `issue`: then it can be shorter than the service needs. */
export function judge(end: AttemptEnd, job: LeasedJob, isVisitor: boolean): Verdict {
  if ("card" in end) {
    const { id: cardId, publicUrl } = end.card;
    if (isStorable(cardId, 255) && isStorable(publicUrl, 2_000))
      return { type: "issued", card: { cardId, publicUrl } };
    const message = "The service returned a card whose id or address cannot be stored.";
    return again({ code: "invalid-response", message }, { hasNoEffect: false, service: "works" });
  }
  const { error } = end;
  if (!isIssuingError(error))
    return again(
      { code: "aborted", message: "The attempt was aborted." },
      { hasNoEffect: false, service: undefined },
    );
  const { code, status, outcome, cardId, retryable } = error;
  if (cardId !== undefined && isStorable(cardId, 255)) return { type: "issued", card: { cardId } };
  if (code === "validation") return { type: "rejected", error: toEntryError(error) };
  if (code === "idempotency-expired") return { type: "unknown", error: toEntryError(error) };
  // It is retryable when an earlier attempt is known, which may still be running (the assumption `concurrent-key`).
  if (code === "conflict" && retryable) {
    const isRunning = job.lostAtMs !== undefined && job.leasedAtMs - job.lostAtMs < maxRunningMs;
    if (!isRunning) return { type: "unknown", error: toEntryError(error) };
    return again(error, { hasNoEffect: true, service: "works" });
  }
  const hasNoEffect = outcome !== "unknown";
  // After a 202 without a card the service works, and issues the card later.
  const isFailing = (failures.includes(code) || status === 408) && status !== 202;
  const isShort = code === "deadline" && isVisitor;
  const service = isShort ? undefined : isFailing ? "fails" : "works";
  // Another response to a later attempt does not end the entry: an earlier attempt may have issued the card.
  if (isFailing || retryable || !hasNoEffect || !job.isFirstAttempt)
    return again(error, { hasNoEffect, service, retryAfterMs: error.retryAfterMs });
  return { type: "rejected", error: toEntryError(error) };
}

function again(
  error: Partial<OutboxEntryError> & { code: string; message: string },
  options: {
    hasNoEffect: boolean;
    service: "fails" | "works" | undefined;
    retryAfterMs?: number | undefined;
  },
): Verdict {
  const { retryAfterMs, ...rest } = options;
  return { type: "again", error: toEntryError(error), retryAfterMs, ...rest };
}

/** Removes NUL from text of the service, because no database stores it. */
const toStorable = (text: string) => text.replaceAll("\0", "");

function toEntryError({
  code,
  message,
  userMessage = generalUserMessage,
  fields = [],
}: Partial<OutboxEntryError> & { code: string; message: string }): OutboxEntryError {
  return { code, message: toStorable(message), userMessage: toStorable(userMessage), fields };
}

/** Checks the brand of the error: it can be of another installed copy of the client, which is imported for its types only. */
const isIssuingError = (error: unknown): error is IssuingError =>
  typeof error === "object" && error !== null && issuingErrorBrand in error;

/** Decides what the end of an attempt means for its entry. */
import { generalUserMessage, issuingErrorBrand } from "@loyalty-cards/internal/issuing-steps";
import { type End, type LeasedJob, ranks } from "@loyalty-cards/internal/jobs/jobs";
import { getBackoffMs, maxBackoffMs } from "@loyalty-cards/internal/jobs/worker";
import type { Card, IssuingError } from "@loyalty-cards/issuing-client";
import { isStorable, type OutboxEntryError, type StoredCard } from "./entry.ts";

/** How long an attempt without a response may still be running at the service. A 409 after this time has another cause. */
export const maxRunningMs = 10 * 60_000;

export type Verdict = End &
  (
    | { state: "issued"; result: StoredCard }
    /** Tried again. */
    | { state: "waiting"; error: OutboxEntryError; delayMs: number }
    /** `rejected` is final, until the form is corrected. `unknown`: only a person can find out whether a card exists. */
    | { state: "rejected" | "unknown"; error: OutboxEntryError }
  );

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

/**
 * @param isVisitor whether the deadline is that of `issue`: then it can be shorter than the service needs.
 * @param random for the delay of the next attempt.
 */
export function judge(
  sent: { card: Pick<Card, "id" | "publicUrl"> } | { error: unknown },
  job: LeasedJob,
  isVisitor: boolean,
  random: () => number,
): Verdict {
  const again = (failure: Failure, finding?: End["finding"], hasNoEffect = false, retryAfterMs = 0) => {
    const delayMs = Math.max(getBackoffMs(job.attempts, random), Math.min(retryAfterMs, maxBackoffMs));
    const error = toEntryError(failure);
    return { state: "waiting", rank: ranks.started, delayMs, error, hasNoEffect, finding } as const;
  };
  if ("card" in sent) {
    const { id, publicUrl } = sent.card;
    if (isStorable(id, 255) && isStorable(publicUrl, 2_000))
      return { ...issued, result: { cardId: id, publicUrl } };
    const message = "The service returned a card whose id or address cannot be stored.";
    return again({ code: "invalid-response", message }, "works");
  }
  const { error } = sent;
  if (!isIssuingError(error)) return again({ code: "aborted", message: "The attempt was aborted." });
  const { code, status, outcome, cardId, retryable, retryAfterMs } = error;
  if (cardId !== undefined && isStorable(cardId, 255)) return { ...issued, result: { cardId } };
  const unknown: Verdict = { state: "unknown", error: toEntryError(error) };
  const rejected: Verdict = { ...unknown, state: "rejected", hasNoEffect: true, finding: "works" };
  if (code === "validation") return rejected;
  if (code === "idempotency-expired") return unknown;
  // It is retryable when an earlier attempt is known, which may still be running (the assumption `concurrent-key`).
  if (code === "conflict" && retryable) {
    const isRunning = job.lostAtMs !== undefined && job.leasedAtMs - job.lostAtMs < maxRunningMs;
    return isRunning ? again(error, "works", true) : unknown;
  }
  const hasNoEffect = outcome !== "unknown";
  // After a 202 without a card the service works, and issues the card later.
  const isFailing = (failures.includes(code) || status === 408) && status !== 202;
  // Another response to a later attempt does not end the entry: an earlier attempt may have issued the card.
  if (!isFailing && !retryable && hasNoEffect && job.isFirstAttempt) return rejected;
  if (code === "deadline" && isVisitor) return again(error, undefined, hasNoEffect, retryAfterMs);
  return again(error, isFailing ? { reason: code, retryAfterMs } : "works", hasNoEffect, retryAfterMs);
}

const issued = { state: "issued", isErased: true, finding: "works" } as const;

type Failure = Pick<OutboxEntryError, "code" | "message"> & Partial<OutboxEntryError>;

/** Removes NUL from text of the service, because no database stores it. */
const toStorable = (text: string) => text.replaceAll("\0", "");

const toEntryError = (failure: Failure): OutboxEntryError => ({
  code: failure.code,
  message: toStorable(failure.message),
  userMessage: toStorable(failure.userMessage ?? generalUserMessage),
  fields: failure.fields ?? [],
});

/** Checks the brand of the error: it can be of another installed copy of the client, which is imported for its types only. */
const isIssuingError = (error: unknown): error is IssuingError =>
  typeof error === "object" && error !== null && issuingErrorBrand in error;

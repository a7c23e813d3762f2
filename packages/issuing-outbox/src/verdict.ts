/** Decides what the end of an attempt means for its entry. */
import {
  generalFormMessage,
  generalUserMessage,
  hasIssuingErrorBrand,
} from "@loyalty-cards/internal/errors";
import { getBackoffMs } from "@loyalty-cards/internal/jobs/backoff";
import type { End } from "@loyalty-cards/internal/jobs/settle";
import { type LeasedJob, ranks } from "@loyalty-cards/internal/jobs/tables";
import type { Result } from "@loyalty-cards/internal/result";
import type {
  Card,
  IssuingError,
  IssuingErrorCode,
  ProblemDetails,
} from "@loyalty-cards/issuing-client";
import type { OutboxEntryError, StoredCard, StoredError } from "./entry.ts";
import { isStorable } from "./job.ts";
import { isOptionWrong } from "./outcomes.ts";

/**
 * How long an attempt without a response may still be running at the service. A 409 that lasts
 * longer has another cause.
 */
export const maxRunningMs = 10 * 60_000;

/** Between attempts at an entry. */
export const backoff = { initialDelayMs: 1_000, maxDelayMs: 15 * 60_000 };

/** How an attempt ended, in the words of the outbox. */
export type AttemptVerdict = End &
  (
    | { state: "issued"; result: StoredCard }
    /** Tried again. */
    | { state: "waiting"; error: StoredError; delayMs: number }
    /**
     * `rejected` is final, until the form is corrected. `unknown`: only a person can find out
     * whether a card exists.
     */
    | { state: "rejected" | "unknown"; error: OutboxEntryError }
  );

/** Why an attempt returned no card: the facts of the client's error. */
export interface CallFailure extends Pick<IssuingError, "outcome"> {
  code: IssuingErrorCode | "aborted";
  status?: number | undefined;
  problem?: ProblemDetails | undefined;
  retryAfterMs?: number | undefined;
  /** The id of a card that exists although the response is invalid. */
  cardId?: string | undefined;
  /** What the entry shows. */
  entryError: OutboxEntryError;
  /** What was thrown, for reports. */
  thrown: unknown;
}

/** What the attempt was, besides its end. */
export interface AttemptFacts {
  /** `error` is what is stored of the attempt before. */
  job: Pick<LeasedJob, "isFirstAttempt" | "leasedAtMs" | "attempts" | "error">;
  /** Whether the deadline is that of `issue`: then it can be shorter than the service needs. */
  isVisitor: boolean;
}

/** What a failure means. */
type Meaning =
  /** The visitor can correct the form: this attempt has issued no card. */
  | "invalid-form"
  /** No further request can find out whether there is a card. */
  | "undecidable"
  /** Another request with this key may still be running at the service. */
  | "conflict"
  /** The service works; the next attempt may succeed. */
  | "works"
  /** The service, or the way to it, fails or refuses. */
  | "fails"
  /** The attempt says nothing of the service. */
  | "silent";

type Rule = Meaning | ((failure: CallFailure, facts: AttemptFacts) => Meaning);

/** Statuses that mean something else than their code. */
const meaningByStatus: Partial<Record<number, Rule>> = {
  202: "works", // it issues the card later
  400: judgeBadRequest,
  413: judgeLength,
  414: judgeLength,
};

/** A code of a newer client, which this table does not have, means that the service fails. */
const meaningByCode: Partial<Record<string, Rule>> = {
  validation: "invalid-form",
  "not-found": "fails",
  unauthorized: "fails",
  forbidden: "fails",
  conflict: judgeConflict,
  "rate-limited": "fails",
  rejected: "fails",
  server: "fails",
  network: "fails",
  timeout: "fails",
  deadline: judgeDeadline,
  "invalid-response": "fails",
  "idempotency-expired": "undecidable",
  configuration: judgeConfiguration,
  aborted: "silent",
} satisfies Record<CallFailure["code"], Rule>;

/** A 400 of a proxy is no problem details, and says nothing of the form. */
function judgeBadRequest({ problem }: CallFailure, { job }: AttemptFacts): Meaning {
  const isProblem = problem?.title !== undefined || problem?.detail !== undefined;
  return isProblem && job.isFirstAttempt ? "invalid-form" : "works";
}

/** A proxy that rejects a long request says nothing of earlier attempts. */
function judgeLength(_failure: CallFailure, { job }: AttemptFacts): Meaning {
  return job.isFirstAttempt ? "invalid-form" : "works";
}

function judgeConflict(_failure: CallFailure, { job }: AttemptFacts): Meaning {
  const isLasting = job.leasedAtMs - getFirstConflictAtMs(job) >= maxRunningMs;
  return isLasting ? "undecidable" : "conflict";
}

function judgeConfiguration({ thrown }: CallFailure): Meaning {
  return isOptionWrong(thrown) ? "silent" : "fails";
}

function judgeDeadline(_failure: CallFailure, { isVisitor }: AttemptFacts): Meaning {
  return isVisitor ? "silent" : "fails";
}

/** When the conflicts in a row began, with the first attempt of them. */
function getFirstConflictAtMs({ leasedAtMs, error }: AttemptFacts["job"]): number {
  return (error as StoredError | undefined)?.firstConflictAtMs ?? leasedAtMs;
}

/**
 * Decides what an attempt means.
 * @param random for the delay of the next attempt.
 */
export function judge(
  sent: Result<Pick<Card, "id" | "publicUrl">, CallFailure>,
  facts: AttemptFacts,
  random: () => number,
): AttemptVerdict {
  if (sent.failure === undefined) {
    const { id, publicUrl } = sent.value;
    return isStorable(id, 255) && isStorable(publicUrl, 2_000)
      ? toIssued({ cardId: id, publicUrl })
      : toWaiting(unstorableCard, "works", facts, random);
  }
  const { failure } = sent;
  const { cardId, entryError: error } = failure;
  if (cardId !== undefined && isStorable(cardId, 255)) return toIssued({ cardId });
  const meaning = getMeaning(failure, facts);
  switch (meaning) {
    case "invalid-form": {
      // Only a 422 says what to correct. The text of a 400, 413 or 414 is about the service.
      const { userMessage } = error;
      const shown = failure.code === "validation" ? userMessage : generalFormMessage;
      const rejection = { ...error, userMessage: shown };
      return { state: "rejected", error: rejection, effect: "ruled-out", topicResult: "works" };
    }
    case "undecidable":
      return { state: "unknown", error, effect: "unchanged" };
    default:
      return toWaiting(failure, meaning, facts, random);
  }
}

function getMeaning(failure: CallFailure, facts: AttemptFacts): Meaning {
  const { code, status = 0 } = failure;
  const rule: Rule = meaningByStatus[status] ?? meaningByCode[code] ?? "fails";
  return typeof rule === "function" ? rule(failure, facts) : rule;
}

const toIssued = (result: StoredCard): AttemptVerdict => ({
  state: "issued",
  effect: "unchanged",
  result,
  isErased: true,
  topicResult: "works",
});

function toWaiting(
  failure: CallFailure,
  meaning: "conflict" | "works" | "fails" | "silent",
  { job }: AttemptFacts,
  random: () => number,
): AttemptVerdict {
  const { retryAfterMs, entryError } = failure;
  const backoffMs = getBackoffMs(job.attempts, backoff, random);
  const requestedMs = Math.min(retryAfterMs ?? 0, backoff.maxDelayMs);
  const isConflict = meaning === "conflict";
  const error: StoredError = isConflict
    ? { ...entryError, firstConflictAtMs: getFirstConflictAtMs(job) }
    : entryError;
  return {
    state: "waiting",
    rank: ranks.started,
    delayMs: Math.max(backoffMs, requestedMs),
    error,
    effect: isConflict ? "unchanged" : effects[failure.outcome],
    topicResult: toTopicResult(meaning, failure),
  };
}

/** Whether this attempt may issue a card: the client judges each by itself. */
const effects = { "not-sent": "ruled-out", rejected: "ruled-out", unknown: "uncertain" } as const;

/** What the breaker learns of the service. */
function toTopicResult(
  meaning: "conflict" | "works" | "fails" | "silent",
  { code, retryAfterMs }: CallFailure,
): End["topicResult"] {
  if (meaning === "silent") return undefined;
  return meaning === "fails" ? { reason: code, retryAfterMs } : "works";
}

/** Reads what `send` threw: an error of the client, or the reason of an abort. */
export function toFailure(thrown: unknown): CallFailure {
  if (!hasIssuingErrorBrand<IssuingError>(thrown)) {
    const entryError = toEntryError({ code: "aborted", message: "The attempt was aborted." });
    return { code: "aborted", outcome: "unknown", entryError, thrown };
  }
  const { code, outcome, status, problem, retryAfterMs, cardId } = thrown;
  const entryError = toEntryError(thrown);
  return { code, outcome, status, problem, retryAfterMs, cardId, entryError, thrown };
}

const unstorableCard: CallFailure = {
  code: "invalid-response",
  outcome: "unknown",
  entryError: toEntryError({
    code: "invalid-response",
    message: "The service returned a card whose id or address cannot be stored.",
  }),
  thrown: undefined,
};

function toEntryError({
  code,
  message,
  userMessage = generalUserMessage,
  fields = [],
}: Pick<OutboxEntryError, "code" | "message"> & Partial<OutboxEntryError>): OutboxEntryError {
  return { code, message: toStorable(message), userMessage: toStorable(userMessage), fields };
}

/** Removes NUL from text of the service, because no database stores it. */
function toStorable(text: string): string {
  return text.replaceAll("\0", "");
}

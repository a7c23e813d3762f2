/**
 * What an outbox reports: the outcome of each attempt, its alarms, and a log line for what needs
 * attention.
 */
import { hasIssuingErrorBrand, removeErrorLink } from "@loyalty-cards/internal/errors";
import { toPrintable } from "@loyalty-cards/internal/format";
import { endless } from "@loyalty-cards/internal/limits";
import {
  createReport,
  describeError,
  describeErrorForLog,
  warningIntervalMs,
} from "@loyalty-cards/internal/reporting";
import type { Clock } from "@loyalty-cards/internal/timers";
import type { IssuingError, IssuingErrorCode } from "@loyalty-cards/issuing-client";
import type { EntryRef } from "./entry.ts";

/** What happened. Ids, codes and times only, except for `error`. */
export type OutboxOutcome =
  /** The card is issued and recorded. `lagMs` is the time since the entry was added. */
  | { outcome: "issued"; entry: EntryRef; cardId: string; attempts: number; lagMs: number }
  /** The service rejected the form: `onRejected` was called, and `correct` takes a new form. */
  | { outcome: "rejected"; entry: EntryRef; code: string; attempts: number; error: unknown }
  /**
   * The attempt failed, and the entry is tried again; `retryInMs` does not count in a pause. It is
   * infinite for the code `no-form`: then `add` must store the form.
   */
  | {
      outcome: "failed";
      entry: EntryRef;
      code: string;
      attempts: number;
      error: unknown;
      retryInMs: number;
    }
  /** Alarm: it is unknown whether a card exists. A person must find out, and call `resolve`. */
  | { outcome: "unknown"; entry: EntryRef; code: string; attempts: number; error: unknown }
  /**
   * Your callback threw or rejected, or its transaction could not be committed. It is called again
   * after `retryInMs`; nothing is sent again.
   */
  | {
      outcome: "not-delivered";
      entry: EntryRef;
      callback: "onIssued" | "onRejected";
      error: unknown;
      retryInMs: number;
    }
  /** A callback that had failed before succeeded. */
  | { outcome: "delivered"; entry: EntryRef }
  /** Alarm: the service returned another card than the recorded one. The recorded card stays. */
  | { outcome: "another-card"; entry: EntryRef; cardId: string }
  /** Alarm: a card was issued after its user was forgotten. */
  | { outcome: "forgotten-card"; cardId: string }
  /**
   * One entry of this template is tried at a time. Reported once, by the process that noticed it.
   */
  | { outcome: "paused"; template: string; reason: string }
  | { outcome: "resumed"; template: string }
  /**
   * The entry was leased again after the lease had expired, or was forgotten: the result of this
   * attempt was not recorded.
   */
  | { outcome: "lease-lost"; entry: EntryRef }
  /** The database could not be used; the worker keeps trying. */
  | { outcome: "unavailable"; error: unknown };

/** Where outcomes and log lines go. */
export interface ReportOptions {
  /** Called with every outcome, for metrics and alarms. What it throws is logged and ignored. */
  onOutcome?: (outcome: OutboxOutcome) => void;
  /** Receives one line for each outcome that needs attention. Default `console.error`. */
  log?: (message: string) => void;
  /**
   * Adds the messages of errors of your callbacks and of the database to these lines. Default
   * false: they can contain personal data.
   */
  logErrorMessages?: boolean;
}

export type Report = (outcome: OutboxOutcome) => void;

/** @param hasWorker whether this process runs a worker. */
export const createOutboxReport = (options: ReportOptions, hasWorker: () => boolean): Report =>
  createReport("issuing-outbox", options, createFormat(options, hasWorker));

type Failed = Extract<OutboxOutcome, { outcome: "failed" }>;

/**
 * @returns a function that logs a failure, once for each template and code in ten minutes, and each
 * that is not repeated.
 */
export function createFailureLog(
  log: (line: string) => void,
  clock: Clock,
  hasWorker: () => boolean,
) {
  const loggedAtMs = new Map<string, number>();
  return (failed: Failed): void => {
    const key = JSON.stringify([failed.entry.template, failed.code]);
    const sinceMs = clock.monotonicMs() - (loggedAtMs.get(key) ?? Number.NEGATIVE_INFINITY);
    if (sinceMs < warningIntervalMs && failed.retryInMs !== endless) return;
    loggedAtMs.set(key, clock.monotonicMs());
    log(formatFailure(failed, hasWorker()));
  };
}

/** Whether an option of the client is wrong. An apiKey function that failed may work again. */
export const isOptionWrong = (thrown: unknown): boolean =>
  hasIssuingErrorBrand<IssuingError>(thrown) &&
  thrown.code === "configuration" &&
  !thrown.retryable;

function formatFailure({ entry, code, error, retryInMs }: Failed, hasWorker: boolean): string {
  if (isOptionWrong(error))
    return `an option of the client is wrong, so this process issues no card until it is restarted: ${describeError(error)}`;
  const template = toPrintable(entry.template);
  // The client's own message names the address, or its wrong path.
  const isDescribed = code === "network" || code === "not-found";
  const cause = isDescribed ? readMessage(error) : `${getAdvice(code)}.`;
  const failed = `a card of the template ${template} was not issued (${code}): ${cause}`;
  if (retryInMs === endless) return failed;
  const again = `It is due again in ${Math.ceil(retryInMs / 1000)} s`;
  const next = hasWorker ? `${again}.` : `${again}. ${noWorker} sends it then.`;
  return `${failed} ${next}`;
}

const noWorker = "This process runs no worker: outbox.work() or outbox.drain()";

/** The message of the client without its link, on one line. */
const readMessage = (error: unknown) => toPrintable(removeErrorLink((error as Error).message), 300);

/** @param hasWorker without one, nobody tries an entry, unless another process has a worker. */
function formatPause(
  { template, reason }: Extract<OutboxOutcome, { outcome: "paused" }>,
  hasWorker: boolean,
): string {
  const pause = `entries of the template ${toPrintable(template)} wait`;
  return hasWorker
    ? `${pause}, and one is tried at growing intervals: ${getAdvice(reason)}.`
    : `${pause}: ${getAdvice(reason)}. ${noWorker} tries one at growing intervals.`;
}

/** @param hasWorker without one, nobody calls the callback. */
function formatUndelivered(
  { callback, retryInMs }: Extract<OutboxOutcome, { outcome: "not-delivered" }>,
  hasWorker: boolean,
): string {
  const again = `the entry is recorded, and the callback is due again in ${Math.round(retryInMs / 1000)} s`;
  const next = hasWorker ? "" : `. ${noWorker} calls it then`;
  return `${callback} failed; ${again}${next}`;
}

/** User ids are not logged: in some shops they are email addresses. */
function createFormat(options: ReportOptions, hasWorker: () => boolean) {
  const describe = (error: unknown) => describeErrorForLog(error, options);
  return (outcome: OutboxOutcome): string | undefined => {
    switch (outcome.outcome) {
      case "unknown":
        return `an entry is unknown (${outcome.code}) after ${outcome.attempts} attempts: a card may exist. list({ state: "unknown" }) returns the entry: look for the card in the service's console, and call resolve.`;
      case "not-delivered":
        return `${formatUndelivered(outcome, hasWorker())}: ${describe(outcome.error)}`;
      case "another-card":
        return `the service returned the card ${toPrintable(outcome.cardId)} for a user who has another one.`;
      case "forgotten-card":
        return `the card ${toPrintable(outcome.cardId)} was issued after its user was forgotten: remove it at the service.`;
      case "paused":
        return formatPause(outcome, hasWorker());
      case "resumed":
        return `entries of the template ${toPrintable(outcome.template)} are sent again.`;
      case "unavailable":
        return `the database cannot be used: ${describe(outcome.error)}`;
      default:
        return undefined;
    }
  };
}

const notAccepted = "the service does not accept the API key. Correct LOYALTY_API_KEY, and restart";
const serviceFails = "the service fails or does not respond";

/** Failures that are logged. The others reject an entry, make it unknown, or end by themselves. */
type LoggedCode =
  | Exclude<IssuingErrorCode, "validation" | "idempotency-expired" | "conflict">
  | "no-form";

/** What to do about a failure, by its code. */
const adviceByCode: Partial<Record<string, string>> = {
  "not-found":
    "the template does not exist or is archived. Correct the id, or restore the template in the service's console",
  unauthorized: notAccepted,
  forbidden: notAccepted,
  rejected:
    "the service, or a proxy before it, refuses the request. The error of the entry has the status",
  configuration: "the apiKey function of the client fails",
  "rate-limited": "the service asks to send fewer requests",
  "no-form":
    "its form was not stored, because the transaction was committed although add had failed or was not awaited. Call add again, with the form",
  network: "no connection to the service. Check LOYALTY_URL if it never worked",
  server: serviceFails,
  timeout: serviceFails,
  deadline: serviceFails,
  "invalid-response": serviceFails,
} satisfies Record<LoggedCode, string>;

/** @param code of a client, which can be newer than this table. */
const getAdvice = (code: string) => adviceByCode[code] ?? serviceFails;

/** What an outbox reports: the outcome of each attempt, its alarms, and a log line for what needs attention. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { describeError, formatErrorKind, notify } from "@loyalty-cards/internal/reporting";
import type { EntryRef } from "./entry.ts";

/** What happened. Ids, codes and times only, except for `error`. */
export type OutboxOutcome =
  /** The card is issued and recorded. `lagMs` is the time since the entry was added. */
  | { outcome: "issued"; entry: EntryRef; cardId: string; attempts: number; lagMs: number }
  /** The service rejected the form: `onRejected` was called, and `correct` takes a new form. */
  | { outcome: "rejected"; entry: EntryRef; code: string; attempts: number; error: unknown }
  /** The attempt failed, and the entry is tried again. */
  | { outcome: "failed"; entry: EntryRef; code: string; attempts: number; error: unknown; retryInMs: number }
  /** Alarm: it is unknown whether a card exists. A person must find out, and call `resolve`. */
  | { outcome: "unknown"; entry: EntryRef; code: string; attempts: number; error: unknown }
  /** Your callback threw or rejected. It is called again after `retryInMs`; nothing is sent again. */
  | { outcome: "not-delivered"; entry: EntryRef; error: unknown; retryInMs: number }
  /** A callback that had failed before succeeded. */
  | { outcome: "delivered"; entry: EntryRef }
  /** Alarm: the service returned another card than the recorded one. The recorded card stays. */
  | { outcome: "another-card"; entry: EntryRef; cardId: string }
  /** Alarm: a card was issued after its user was forgotten. */
  | { outcome: "forgotten-card"; cardId: string }
  /** One entry of this template is tried at a time. Reported once, by the process that noticed it. */
  | { outcome: "paused"; template: string; reason: string }
  | { outcome: "resumed"; template: string }
  /** The entry was leased again after the lease had expired, or was forgotten: the result of this attempt was not recorded. */
  | { outcome: "lease-lost"; entry: EntryRef }
  /** The database could not be used; the worker keeps trying. */
  | { outcome: "unavailable"; error: unknown };

/** Where outcomes and log lines go. */
export interface ReportOptions {
  /** Called with every outcome, for metrics and alarms. What it throws is logged and ignored. */
  onOutcome?: (outcome: OutboxOutcome) => void;
  /** Receives one line for each outcome that needs attention. Default `console.error`. */
  log?: (message: string) => void;
  /** Adds the messages of errors of your callbacks and of the database to these lines. Default false: they can contain personal data. */
  logErrorMessages?: boolean;
}

export type Report = (outcome: OutboxOutcome) => void;

export function createReport(options: ReportOptions): Report {
  const { onOutcome, log = console.error } = options;
  const write = (line: string) => notify(log, `issuing-outbox: ${line}`);
  let lastUnavailable: string | undefined;
  return (outcome) => {
    notify(onOutcome, outcome, (error) =>
      write(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`),
    );
    const line = formatOutcome(outcome, options);
    if (outcome.outcome === "unavailable" && line === lastUnavailable) return; // each poll would repeat it
    lastUnavailable = outcome.outcome === "unavailable" ? line : undefined;
    if (line !== undefined) write(line);
  };
}

/** User ids are not logged: in some shops they are email addresses. */
function formatOutcome(outcome: OutboxOutcome, options: ReportOptions): string | undefined {
  const describe = (error: unknown) =>
    `${describeError(error, options)}${options.logErrorMessages ? "" : " (logErrorMessages: true adds the message)"}`;
  switch (outcome.outcome) {
    case "unknown":
      return `an entry is unknown (${outcome.code}) after ${outcome.attempts} attempts: a card may exist. list({ state: "unknown" }) returns the entry: look for the card in the service's console, and call resolve.`;
    case "not-delivered":
      return `a callback failed and is called again in ${Math.round(outcome.retryInMs / 1000)} s: ${describe(outcome.error)}`;
    case "another-card":
      return `the service returned the card ${toPrintable(outcome.cardId)} for a user who has another one.`;
    case "forgotten-card":
      return `the card ${toPrintable(outcome.cardId)} was issued after its user was forgotten: remove it at the service.`;
    case "paused":
      return `entries of the template ${toPrintable(outcome.template)} wait, and one is tried at growing intervals: ${adviceOf[outcome.reason] ?? "the service fails or does not respond"}.`;
    case "resumed":
      return `entries of the template ${toPrintable(outcome.template)} are sent again.`;
    case "unavailable":
      return `the database cannot be used: ${describe(outcome.error)}`;
    default:
      return undefined;
  }
}

const notAccepted = "the service does not accept the API key. Correct LOYALTY_API_KEY, and restart";

/** What to do about a failure that waiting does not end, by its code. */
const adviceOf: Partial<Record<string, string>> = {
  "not-found":
    "the template does not exist or is archived. Correct the id, or restore the template in the service's console",
  unauthorized: notAccepted,
  forbidden: notAccepted,
  configuration:
    "an option of the client is wrong: the error of the entry says which. Correct it, and restart",
  "rate-limited": "the service asks to send fewer requests",
};

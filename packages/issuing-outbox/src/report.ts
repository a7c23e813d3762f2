/** What an outbox reports: the outcome of each attempt, its alarms, and a log line for what needs attention. */
import { toPrintable } from "@loyalty-cards/internal/format";
import { describeError, formatErrorKind, notify } from "@loyalty-cards/internal/reporting";
import type { IssuingError } from "@loyalty-cards/issuing-client";
import type { Pause } from "./entry.ts";

/** The user and template of an entry. */
export interface EntryRef {
  userId: string;
  template: string;
}

/** What happened. Ids, codes and times only, except for the `error` of your own callback. */
export type OutboxOutcome =
  /** The card is issued and recorded. `lagMs` is the time since the entry was added. */
  | { outcome: "issued"; entry: EntryRef; cardId: string; attempts: number; lagMs: number }
  /** The service rejected the form: `onRejected` was called, and `correct` takes a new form. */
  | { outcome: "rejected"; entry: EntryRef; code: string; attempts: number; error: IssuingError }
  /** The attempt failed, and the entry is tried again. */
  | { outcome: "failed"; entry: EntryRef; code: string; attempts: number; error: unknown; retryInMs: number }
  /** Alarm: it is unknown whether a card exists. A person must find out, and call `resolve`. */
  | { outcome: "unknown"; entry: EntryRef; code: string; attempts: number; error?: unknown }
  /** Your callback threw or rejected. It is called again after `retryInMs`; nothing is sent again. */
  | { outcome: "not-delivered"; entry: EntryRef; deliveries: number; error: unknown; retryInMs: number }
  /** A callback that had failed before succeeded. */
  | { outcome: "delivered"; entry: EntryRef; deliveries: number }
  /** Alarm: the service returned another card than the recorded one. The recorded card is kept. */
  | { outcome: "another-card"; entry: EntryRef; cardId: string }
  /** Alarm: a card was issued after its user was forgotten. */
  | { outcome: "forgotten-card"; cardId: string }
  /** Nothing, or one request at a time, is sent. Reported once, by the process that noticed it. */
  | { outcome: "paused"; pause: Pause }
  | { outcome: "resumed"; pause: Pause }
  /** Another process has the entry: this attempt took longer than its lease. */
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

/** The shortest time between two log lines about the begin of an outage: outages can begin and end many times. */
const outageLineIntervalMs = 600_000;
/** The end of such a pause is logged even when its begin was not. */
const longPauseMs = 60_000;

export function createReport(
  options: ReportOptions,
  clock: { now(): number; monotonicMs(): number },
): Report {
  const { onOutcome, log = console.error } = options;
  let nextOutageLineMs = Number.NEGATIVE_INFINITY;
  /** The pauses whose begin as an outage was logged, by template. */
  const loggedOutages = new Set<string>();
  const isTooSoon = (outcome: OutboxOutcome) => {
    if (outcome.outcome !== "paused" && outcome.outcome !== "resumed") return false;
    const { reason, since, template = "" } = outcome.pause;
    const isOutage = reason === "outage";
    if (outcome.outcome === "resumed") {
      const isRest = isOutage || reason === "rate-limited";
      const isBeginLogged = isRest ? loggedOutages.delete(template) : true;
      return !isBeginLogged && clock.now() - since.getTime() < longPauseMs;
    }
    if (!isOutage) return false;
    if (clock.monotonicMs() < nextOutageLineMs) return true;
    nextOutageLineMs = clock.monotonicMs() + outageLineIntervalMs;
    loggedOutages.add(template);
    return false;
  };
  const write = (line: string) => notify(log, `issuing-outbox: ${line}`);
  let lastUnavailable: string | undefined;
  return (outcome) => {
    notify(onOutcome, outcome, (error) =>
      write(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`),
    );
    const line = isTooSoon(outcome) ? undefined : formatOutcome(outcome, options);
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
      return `an entry is unknown (${outcome.code}) after ${outcome.attempts} attempts: a card may exist. list({ state: "unknown" }) returns the entry: look for the card in the console, and call resolve.`;
    case "not-delivered":
      return `a callback failed and is called again in ${Math.round(outcome.retryInMs / 1000)} s: ${describe(outcome.error)}`;
    case "another-card":
      return `the service returned the card ${toPrintable(outcome.cardId)} for a user who has another one.`;
    case "forgotten-card":
      return `the card ${toPrintable(outcome.cardId)} was issued after its user was forgotten: remove it at the service.`;
    case "paused":
      return formatPause(outcome.pause);
    case "resumed":
      return `entries are sent again: the pause (${outcome.pause.reason}) has ended.`;
    case "unavailable":
      return `the database cannot be used: ${describe(outcome.error)}`;
    default:
      return undefined;
  }
}

function formatPause({ reason, template = "" }: Pause): string | undefined {
  switch (reason) {
    case "outage":
      return "the service fails or does not respond: entries wait, and one is tried at growing intervals.";
    case "template-not-found":
      return `the template ${toPrintable(template)} does not exist or is archived: its entries wait. Correct the id, or restore the template in the console.`;
    case "unauthorized":
      return "the service does not accept the API key of this process: entries wait until it does. Correct LOYALTY_API_KEY, and restart.";
    case "clock":
      return "the clocks of this machine and of the service differ by more than an hour: entries wait until they agree.";
    case "restored":
      return "the tables are a copy, or were restored from a backup: entries wait for resume(). See https://loyalty-cards.github.io/loyalty-cards/guides/outbox";
    default:
      return undefined; // a pause after 429 is not logged: metrics and count() show it
  }
}

/** What an inbox reports: the outcome of each event, and a log line for each failure. */

import { toPrintable } from "@loyalty-cards/internal/format";
import type { OptionNames } from "@loyalty-cards/internal/known-options";
import { requireFunction } from "@loyalty-cards/internal/limits";
import { createReport, describeErrorForLog } from "@loyalty-cards/internal/reporting";
import type { WebhookEvent } from "@loyalty-cards/webhook-verify";

export type EventRef = Pick<WebhookEvent, "id" | "type">;

/**
 * What happened to one event. Contains ids and times; the only text that may hold personal data is
 * that of `error`.
 */
export type InboxOutcome =
  /** The event is durable; the receiver may respond 204. */
  | { outcome: "stored" | "duplicate"; event: EventRef; durationMs: number }
  /** The event could not be stored; the receiver responds 503 and the service delivers again. */
  | { outcome: "not-stored"; event: EventRef; durationMs: number; error: unknown }
  /**
   * The handler succeeded. `lagMs` is the time since the event was received. `attempt` is absent
   * here and below where the queue does not report it.
   */
  | { outcome: "done"; event: EventRef; attempt?: number; durationMs: number; lagMs: number }
  /**
   * The handler failed. The next attempt follows after `retryInMs`; undefined where the queue does
   * not report it. For a job that cannot be read, here and at `dead`, `event.id` is the id of the
   * job and `type` is empty.
   */
  | { outcome: "failed"; event: EventRef; attempt?: number; error: unknown; retryInMs?: number }
  /**
   * The last attempt failed. The event is a dead letter until it is replayed or delivered again.
   */
  | { outcome: "dead"; event: EventRef; attempt?: number; error: unknown }
  /**
   * The lease expired and another worker has the event, or it was deleted; the `write` functions of
   * this attempt did not run.
   */
  | { outcome: "lease-lost"; event: EventRef; attempt: number }
  /** The inbox could not be reached; the worker keeps trying. */
  | { outcome: "unavailable"; error: unknown };

export interface ReportOptions {
  /** Called with the outcome of every event, for metrics. What it throws is logged and ignored. */
  onOutcome?: (outcome: InboxOutcome) => void;
  /**
   * Receives one line per failure: the name and code of the error, where your code threw it, and
   * its causes. Default `console.error`.
   */
  log?: (message: string) => void;
  /**
   * Adds the messages of errors to these lines, to `lastFailure` of a SQLite inbox, and to `error`
   * of its health. Default false: they can contain personal data. Messages of this SDK's own errors
   * contain none and are always added.
   */
  logErrorMessages?: boolean;
}

export const reportOptionNames = {
  onOutcome: true,
  log: true,
  logErrorMessages: true,
} satisfies OptionNames<ReportOptions>;

export type Report = (outcome: InboxOutcome) => void;

/** @throws {TypeError} for a listener that is not a function. */
export function createInboxReport(options: ReportOptions): Report {
  for (const name of ["onOutcome", "log"] as const) {
    const listener: unknown = options[name];
    if (listener !== undefined) requireFunction(name, listener);
  }
  return createReport("webhook-inbox", options, (outcome) => formatFailure(outcome, options));
}

function formatFailure(outcome: InboxOutcome, options: ReportOptions): string | undefined {
  if (!("error" in outcome)) return undefined;
  if (outcome.outcome === "not-stored") return undefined; // the receiver logs it
  const error = describeErrorForLog(outcome.error, options);
  if (outcome.outcome === "unavailable") return `the inbox cannot be reached: ${error}`;
  const { type, id } = outcome.event;
  const name = `${toPrintable(type)} ${toPrintable(id)}`.trim();
  const [what, when] =
    outcome.outcome === "failed" ? ["failed", "in"] : ["is a dead letter", "after"];
  const attempt = outcome.attempt === undefined ? "" : ` ${when} attempt ${outcome.attempt}`;
  return `${name} ${what}${attempt}: ${error}`;
}

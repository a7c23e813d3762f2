/**
 * Reports what happened to each delivery: outcomes for metrics, and log lines for what the operator
 * has to fix.
 */
import { formatErrorLink } from "@loyalty-cards/internal/errors";
import { toPrintable } from "@loyalty-cards/internal/format";
import {
  describeError,
  describeErrorForLog,
  formatErrorKind,
  notify,
  writeLine,
} from "@loyalty-cards/internal/reporting";
import {
  describeRejection,
  isMisconfiguration,
  type Misconfiguration,
  type MisconfigurationReason,
  type Refusal,
  type Rejection,
  type RejectionReason,
  reasons,
} from "./reasons.ts";

/** The id and type of an event. */
export interface EventRef {
  id: string;
  type: string;
}

/** What is known of a verified delivery. */
export interface VerifiedFacts {
  event: EventRef;
  /** The `id` of the secret that matched, if it has one. */
  secretId: string | undefined;
  /** The current time minus the signature's, in seconds. */
  skewSeconds: number;
  /** The unsigned `Service-Event` header names another type than the body. */
  eventTypeMismatch: boolean;
  /**
   * The JSON Pointers, such as `/data/balance`, of the members of `data` that a handler needs and
   * that are missing or invalid. Absent when there are none. The event is delivered and stored all
   * the same; `isKnownEvent` is false for it.
   */
  unexpectedData?: readonly string[];
}

/** How a verified delivery ended. */
export type HandlingOutcome =
  | { outcome: "verified" | "stored" | "duplicate" | "in-progress" }
  /** `handler`, the inbox or the dedupe store took longer than `timeoutMs`. */
  | { outcome: "failed"; reason: "timeout" }
  /** `error` is what `handler`, the inbox or the dedupe store threw. */
  | { outcome: "failed"; reason: "handler-error"; error: unknown };

/** How a delivery ended that was not handled. */
export type RefusalOutcome =
  /**
   * `skewSeconds`, the receiver's clock minus the signature's, says by how much a delivery is
   * `stale` (above 0) or `future` (below 0).
   */
  | { outcome: "rejected"; reason: RejectionReason; skewSeconds?: number }
  | { outcome: "misconfigured"; reason: MisconfigurationReason }
  /** `error` is what `now` or the headers of the request threw. */
  | { outcome: "error"; error: unknown };

/** What failed after the response. `error` is what `afterResponse` threw. */
type LateFailure = { outcome: "after-response-failed"; event: EventRef; error: unknown };

/**
 * One delivery, for metrics. `status` is that of the response; `durationMs` is the time until the
 * response, and 0 for `after-response-failed`.
 */
export type ReceiverOutcome = ((HandlingOutcome & VerifiedFacts) | RefusalOutcome | LateFailure) & {
  status: number;
  durationMs: number;
};

/** What to report, and where. */
export interface ReporterOptions {
  /**
   * Called with the outcome of every delivery, for metrics. Only `error` can contain personal data.
   * Without it, rejected deliveries are logged: at most one line a minute for each reason, with the
   * number of suppressed lines.
   */
  onOutcome?: (outcome: ReceiverOutcome) => void;
  /** Called with errors of the program, each with its fix. Default `console.error`. */
  log?: (message: string) => void;
  /**
   * Adds the messages of errors to the log lines about `handler`, `afterResponse`, the inbox and
   * the `secret` function. Default false: these messages can contain personal data. Messages of
   * this SDK's own errors contain none and are always logged.
   */
  logErrorMessages?: boolean;
}

/** Anyone can cause a rejection, so each cause is logged at most once in this time. */
const logIntervalMs = 60_000;

/** Each has a section on the page of errors. */
type Page = Refusal["reason"] | "handler-error";

/** What an outcome has besides the end of a delivery. */
export interface Reported {
  status: number;
  durationMs: number;
  /** Those of a verified delivery. */
  facts?: VerifiedFacts | undefined;
}

export type Reporter = ReturnType<typeof createReporter>;

/** The options with their defaults, and what the adapter adds. */
interface ReporterSettings extends Required<Omit<ReporterOptions, "onOutcome">> {
  onOutcome: ReporterOptions["onOutcome"];
  /** The clock for the intervals between log lines. */
  clock: { monotonicMs(): number };
  /** What the log advises when something else has read the body. */
  bodyAdvice: string;
}

export function createReporter(settings: ReporterSettings) {
  const { onOutcome, log, clock, bodyAdvice } = settings;
  /** Contains only types that the SDK knows. */
  const typesWithUnexpectedData = new Set<string>();
  /** For each cause, when it was last logged and how many lines were suppressed since. */
  const lastLines = new Map<string, { atMs: number; suppressed: number }>();

  /**
   * Writes a line: with a link to the page of a reason, and at most once in the interval for each
   * `limitBy`.
   */
  function write(line: string, { page, limitBy }: { page?: Page; limitBy?: string } = {}): void {
    const suppressed = limitBy === undefined ? 0 : takeTurn(limitBy);
    if (suppressed === undefined) return;
    const link = page === undefined ? "" : formatErrorLink(`webhook-${page}`);
    const more = suppressed === 0 ? "" : ` (${suppressed} more since the last line about this.)`;
    writeLine(log, `webhook-verify: ${line}${link}${more}`);
  }

  /**
   * Takes the turn of a line: it is written, or counted as suppressed.
   * @returns how many lines were suppressed since the last one; undefined: this line is suppressed.
   */
  function takeTurn(cause: string): number | undefined {
    const nowMs = clock.monotonicMs();
    const last = lastLines.get(cause);
    if (last !== undefined && nowMs - last.atMs < logIntervalMs) {
      last.suppressed++;
      return undefined;
    }
    lastLines.set(cause, { atMs: nowMs, suppressed: 0 });
    return last?.suppressed ?? 0;
  }

  return {
    write,
    /** Calls `onOutcome`. Most receivers have none, and need no object of the outcome. */
    report(
      end: HandlingOutcome | RefusalOutcome | LateFailure,
      { status, durationMs, facts }: Reported,
    ): void {
      if (onOutcome === undefined) return;
      const outcome = { ...end, ...facts, status, durationMs } as ReceiverOutcome;
      notify(onOutcome, outcome, (error) =>
        write(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`),
      );
    },
    /**
     * Logs each `invalid-payload`. Logs the other reasons only without `onOutcome`: otherwise
     * nothing would report a wrong secret.
     */
    logRejection({ reason, detail, skewSeconds }: Rejection): void {
      if (reason === "invalid-payload") {
        const line = `a delivery has a valid signature, but is not an event: ${detail}. Responded 400; the service delivers again.`;
        write(line, { page: reason });
      } else if (onOutcome === undefined) {
        const line = `rejected: ${describeRejection(reason, skewSeconds)}`;
        write(line, { page: reason, limitBy: reason });
      }
    },
    logMisconfiguration(refusal: Misconfiguration): void {
      const { reason } = refusal;
      write(describeMisconfiguration(refusal, bodyAdvice), { page: reason, limitBy: reason });
    },
    /** @param failure how the `secret` function failed when the receiver was created. */
    logSecretFailure(failure: string): void {
      const problem = describeMisconfiguration(
        { reason: "no-secret", detail: failure },
        bodyAdvice,
      );
      const line = `${problem} Until it does, deliveries get the response 500.`;
      write(line, { page: "no-secret" });
    },
    logHandlerTimeout({ id, type }: EventRef, timeoutMs: number): void {
      const line = `${toPrintable(type)} ${toPrintable(id)}: handler, the inbox or the dedupe store took longer than timeoutMs (${timeoutMs} ms); responded 503, so the service delivers again. For long work use an inbox.`;
      write(line, { page: "timeout", limitBy: "handler-timeout" });
    },
    /** @param consequence what the receiver did then, such as the response. */
    logHandlerError({ id, type }: EventRef, error: unknown, consequence: string): void {
      const failure = describeErrorForLog(error, settings).replace(/\.$/, "");
      const line = `${toPrintable(type)} ${toPrintable(id)} failed: ${failure}; ${consequence}`;
      write(line, { page: "handler-error" });
    },
    /**
     * Logs one line per type: all events of a type have the same difference, and `onOutcome`
     * reports each.
     */
    logUnexpectedData({ event: { id, type }, unexpectedData }: VerifiedFacts): void {
      if (unexpectedData === undefined || typesWithUnexpectedData.has(type)) return;
      typesWithUnexpectedData.add(type);
      write(
        `the data of ${type} ${toPrintable(id)} differs from the contract at ${unexpectedData.join(", ")}. isKnownEvent is false for it, and onEvents calls "unexpectedData", or rejects without it. Look for a newer version of this package. Further events of this type are not logged.`,
      );
    },
    /** @param consequence what the receiver did then, such as the response. */
    logUnexpectedError(error: unknown, consequence: string): void {
      const failure = describeError(error, settings).replace(/\.$/, "");
      write(`the receiver failed: ${failure}; ${consequence}`);
    },
  };
}

function describeMisconfiguration(
  { reason, detail = "" }: Misconfiguration,
  bodyAdvice: string,
): string {
  const { text } = reasons[reason];
  if (reason === "no-secret") return `${detail} ${text}`;
  return reason === "already-consumed" ? `${text} ${bodyAdvice}` : text;
}

/** How a delivery ended that was refused. */
export function toRefusalOutcome(refusal: Refusal): RefusalOutcome {
  if (isMisconfiguration(refusal)) return { outcome: "misconfigured", reason: refusal.reason };
  const { reason, skewSeconds } = refusal;
  const rejected = { outcome: "rejected", reason } as const;
  return skewSeconds === undefined ? rejected : { ...rejected, skewSeconds };
}

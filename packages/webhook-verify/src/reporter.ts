/** Reports what happened to each delivery: outcomes for metrics, and log lines for what the operator has to fix. */
import { formatErrorLink } from "@loyalty-cards/internal/error-link";
import { toPrintable } from "@loyalty-cards/internal/format";
import { describeError, formatErrorKind, notify } from "@loyalty-cards/internal/reporting";
import type { RawBodyErrorReason } from "./body.ts";
import type { WebhookEvent } from "./event.ts";
import { describeFailure, type VerificationErrorReason } from "./signature.ts";

/** What is known of a delivery once it is verified. */
export interface VerifiedFacts {
  event: { id: string; type: string };
  /** The `id` of the secret that matched, if it has one. */
  secretId: string | undefined;
  /** The current time minus the signature's, in seconds. */
  skewSeconds: number;
  /** The unsigned `Service-Event` header names another type than the body. */
  eventTypeMismatch: boolean;
  /**
   * Where the `data` of a known type lacks what a handler needs, as JSON Pointers such as `/data/balance`, without values. Absent
   * when nothing is missing. The event is delivered and stored all the same; `isKnownEvent` is false for it.
   */
  unexpectedData?: readonly string[];
}

/** Why a delivery was rejected: 4xx. */
export type Rejection =
  | VerificationErrorReason
  | Exclude<RawBodyErrorReason, "already-consumed">
  | "method-not-allowed"
  | "unsupported-encoding"
  | "timeout";

/** What is wrong with the program or its configuration: 5xx. */
export type Misconfiguration = "already-consumed" | "invalid-clock" | "no-secret" | "secret-timeout";

export type Outcome =
  | ({ outcome: "verified" | "stored" | "duplicate" | "in-progress" } & VerifiedFacts)
  /** `handler` or the inbox took longer than `timeoutMs`. */
  | ({ outcome: "failed"; reason: "timeout" } & VerifiedFacts)
  /** `error` is what `handler`, the inbox or the dedupe store threw. */
  | ({ outcome: "failed"; reason: "handler-error"; error: unknown } & VerifiedFacts)
  /** `skewSeconds`, the receiver's clock minus the signature's, says by how much a delivery is `stale` (above 0) or `future` (below 0). */
  | { outcome: "rejected"; reason: Rejection; skewSeconds?: number }
  | { outcome: "misconfigured"; reason: Misconfiguration }
  /** `error` is what `now` or the headers of the request threw. */
  | { outcome: "error"; error: unknown }
  /** `error` is what `afterResponse` threw. */
  | { outcome: "after-response-failed"; event: { id: string; type: string }; error: unknown };

/** One delivery, for metrics. `status` is that of the response; `durationMs` is the time until the response. */
export type ReceiverOutcome = Outcome & { status: number; durationMs: number };

export interface ReportOptions {
  onOutcome?: (outcome: ReceiverOutcome) => void;
  log?: (message: string) => void;
  monotonicNow?: () => number;
  logErrorMessages?: boolean;
}

/** Anyone can cause a rejection, so each cause is logged at most once in this time. */
const logIntervalMs = 60_000;

/** What the limited log lines are counted by. */
type Cause = Rejection | Misconfiguration | "handler-timeout" | "no-handler";

/** What to change, for each misconfiguration. Where the body was consumed, the adapter knows more; before `no-secret` stands what failed. */
const misconfigurationLines: Record<Misconfiguration, string> = {
  "already-consumed":
    "the body was parsed before the webhook receiver could read it, and a signature covers bytes, not objects.",
  "invalid-clock":
    "the `now` function did not return milliseconds. It must return a number, as Date.now does; for a Date that is date.getTime().",
  "no-secret": "The function must return the signing secret that the service showed once.",
  "secret-timeout":
    "the `secret` function took longer than timeoutMs; responded 503, so the service delivers again. Make it fail sooner, or check why it is slow.",
};

function describeRejection(reason: Rejection, skewSeconds: number | undefined): string {
  switch (reason) {
    case "method-not-allowed":
      return "method-not-allowed; the service sends POST only. Does a redirect turn it into GET?";
    case "too-large":
      return "too-large; the body has more than maxBodyBytes.";
    case "unsupported-encoding":
      return "unsupported-encoding; the body is compressed, and the service sends it uncompressed. Does a proxy compress it?";
    case "unreadable":
      return "unreadable; the connection ended before the body did.";
    case "timeout":
      return "timeout; the body did not arrive within timeoutMs. Does a parser or a proxy hold it back?";
    default:
      return describeFailure({ reason, skewSeconds });
  }
}

/** A log line with the address of the page that describes its reason. */
const addLink = (line: string, reason: Rejection | Misconfiguration | "handler-error") =>
  line + formatErrorLink(`webhook-${reason}`);

export type Reporter = ReturnType<typeof createReporter>;

export function createReporter(options: ReportOptions) {
  const { onOutcome, log = console.error, monotonicNow } = options;
  /** Known types only, so at most six. */
  const typesWithUnexpectedData = new Set<string>();
  /** For each cause, when it was last logged and how many lines were suppressed since. */
  const lastLines = new Map<Cause, { atMs: number; suppressed: number }>();

  function write(line: string): void {
    notify(log, `webhook-verify: ${line}`);
  }
  function emit(outcome: ReceiverOutcome): void {
    notify(onOutcome, outcome, (error) =>
      write(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`),
    );
  }
  function writeLimited(cause: Cause, line: string): void {
    const nowMs = readMonotonicClock();
    const last = lastLines.get(cause);
    if (last !== undefined && !(nowMs - last.atMs >= logIntervalMs)) {
      last.suppressed++;
      return;
    }
    const suppressed = last?.suppressed ?? 0;
    lastLines.set(cause, { atMs: nowMs, suppressed: 0 });
    write(suppressed === 0 ? line : `${line} (${suppressed} more since the last line about this.)`);
  }
  function readMonotonicClock(): number {
    try {
      return monotonicNow?.() ?? performance.now();
    } catch {
      return Number.NaN; // a clock that throws must not change the response
    }
  }
  function writeHandlerError(event: EventRef, error: unknown, consequence: string): void {
    const line = `${toPrintable(event.type)} ${toPrintable(event.id)} failed: ${describeError(error, options)}; ${consequence}`;
    write(addLink(line, "handler-error"));
  }
  return {
    /** Calls `onOutcome`. `getOutcome` is called only when there is a listener. */
    report(getOutcome: () => Outcome, status: number, startedMs: number): void {
      if (onOutcome === undefined) return;
      try {
        emit({ ...getOutcome(), status, durationMs: performance.now() - startedMs });
      } catch (error) {
        write(`the outcome could not be reported (${describeError(error, options)}).`);
      }
    },
    /** Without `onOutcome` a wrong secret would go unnoticed. An `invalid-payload` has a line of its own. */
    logRejection(reason: Rejection, skewSeconds: number | undefined): void {
      if (onOutcome !== undefined || reason === "invalid-payload") return;
      writeLimited(reason, addLink(`rejected: ${describeRejection(reason, skewSeconds)}`, reason));
    },
    logHandlerTimeout(): void {
      if (onOutcome !== undefined) return;
      const line =
        "handler or the inbox took longer than timeoutMs; responded 503, so the service delivers again. For long work use an inbox.";
      writeLimited("handler-timeout", addLink(line, "timeout"));
    },
    logHandlerError(event: EventRef, error: unknown): void {
      writeHandlerError(event, error, "responded 503, so the service delivers again.");
    },
    /** Logged once per type: the difference is the same for all of its events, and `onOutcome` reports each. */
    logUnexpectedData({ id, type }: EventRef, paths: readonly string[]): void {
      if (typesWithUnexpectedData.has(type)) return;
      typesWithUnexpectedData.add(type);
      write(
        `the data of ${type} ${toPrintable(id)} differs from the contract at ${paths.join(", ")}. isKnownEvent is false for it, and onEvents calls "unexpectedData", or rejects without it. Look for a newer version of this package. Further events of this type are reported in onOutcome only, as unexpectedData.`,
      );
    },
    logInvalidPayload(why: string): void {
      const line = `a delivery has a valid signature, but is not an event: ${why}. Responded 400; the service delivers again.`;
      write(addLink(line, "invalid-payload"));
    },
    /** Reports and logs what `afterResponse` threw. */
    afterResponseFailed(event: EventRef, error: unknown): void {
      writeHandlerError(
        event,
        error,
        "the response was 204 already, so the service does not deliver again: use an inbox.",
      );
      emit({ outcome: "after-response-failed", event, error, status: 204, durationMs: 0 });
    },
    /** `consequence` says what was sent. */
    logUnexpectedError(error: unknown, consequence: string): void {
      write(`the receiver failed: ${describeError(error, options)}; ${consequence}`);
    },
    /** `detail` is what to change in this framework, or how the `secret` function failed. */
    logMisconfiguration(reason: Misconfiguration, detail?: string): void {
      const line = misconfigurationLines[reason];
      const sentences = reason === "no-secret" ? [detail, line] : [line, detail];
      writeLimited(reason, addLink(sentences.filter((each) => each !== undefined).join(" "), reason));
    },
    /** A `secret` function failed before the first delivery. */
    logSecretAtStart(failure: string): void {
      const line = `${failure} ${misconfigurationLines["no-secret"]} Until it does, deliveries get the response 500.`;
      write(addLink(line, "no-secret"));
    },
    /** A framework has no handler behind the receiver. */
    logMissingHandler(line: string): void {
      writeLimited("no-handler", line);
    },
  };
}

type EventRef = Pick<WebhookEvent, "id" | "type"> | { id: string; type: string };

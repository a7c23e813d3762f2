/** Tells the program what became of each delivery: figures for metrics, and a log line when the program is at fault. */
import type { Answer } from "./answer.ts";
import type { RawBodyFault } from "./raw-body.ts";
import { describeRefusal, type VerificationFault } from "./verification-error.ts";

/** What is known once a delivery is verified. */
export interface VerifiedFacts {
  event: { id: string; type: string };
  /** The `id` given with the secret that matched, if it has one. */
  secretId: string | undefined;
  /** Our clock minus the signature's, in seconds. */
  skewSeconds: number;
  /** The unsigned `Service-Event` header named another type than the body. */
  contradictsHeader: boolean;
  /**
   * Where the `data` of a known type differs from the contract, as JSON Pointers such as `/data/balance`, never values. Absent
   * when nothing differs. The event is delivered and stored all the same; `isKnownEvent` is false for it.
   */
  unexpectedData?: readonly string[];
}

/** Why a delivery was not even judged an event, or not in time. */
export type Rejection =
  | VerificationFault
  | Exclude<RawBodyFault, "already-consumed">
  | "not-post"
  | "encoded"
  | "too-slow";

export type Misconfiguration = "already-consumed" | "invalid-clock" | "no-secret" | "secret-too-slow";

export type Outcome =
  | ({ outcome: "verified" | "stored" | "duplicate" | "in-progress" } & VerifiedFacts)
  | ({ outcome: "failed"; reason: "too-slow" } & VerifiedFacts)
  /** `error` is what `accept`, the inbox or the dedupe store threw. */
  | ({ outcome: "failed"; reason: "not-taken-over"; error: unknown } & VerifiedFacts)
  /** `skewSeconds`, the receiver's clock minus the signature's, says by how much a delivery is `stale` (above 0) or `future` (below 0). */
  | { outcome: "rejected"; reason: Rejection; skewSeconds?: number }
  | { outcome: "misconfigured"; reason: Misconfiguration }
  /** `error` is what something threw that must not throw: `now`, or the request's own headers. */
  | { outcome: "error"; error: unknown }
  /** `error` is what `process` threw. */
  | { outcome: "process-failed"; event: { id: string; type: string }; error: unknown };

/** One delivery, as metrics see it. `status` is the answer; `durationMs` ends with it. */
export type ReceiverOutcome = Outcome & { status: number; durationMs: number };

export interface ReportOptions {
  onOutcome?: (outcome: ReceiverOutcome) => void;
  log?: (message: string) => void;
  monotonicNow?: () => number;
}

/** Anybody can cause a rejection: of each reason there is at most one line in this time. */
const logPauseMs = 60_000;

/** The causes of log lines that are limited in number. */
type Cause = Rejection | Misconfiguration | "handler-too-slow" | "no-handler";

function describeRejection(reason: Rejection, skewSeconds: number | undefined): string {
  switch (reason) {
    case "not-post":
      return "not-post; the service sends POST only. Does a redirect turn it into GET?";
    case "too-large":
      return "too-large; the body has more than maxBodyBytes.";
    case "encoded":
      return "encoded; the body is compressed, and the service sends it uncompressed. Does a proxy compress it?";
    case "unreadable":
      return "unreadable; the connection ended before the body did.";
    case "too-slow":
      return "too-slow; the body did not arrive within answerWithinMs. Does a parser or a proxy hold it back?";
    default:
      return describeRefusal({ reason, skewSeconds });
  }
}

export function reporter({ onOutcome, log = console.error, monotonicNow }: ReportOptions) {
  /** Known types only, so there are six at most. */
  const typesWithUnexpectedData = new Set<string>();
  /** Of each cause, when its last line was written and how many lines were left out since. */
  const lastLines = new Map<Cause, { atMs: number; suppressed: number }>();

  function write(line: string): void {
    call(log, `webhook-verify: ${line}`, () => {});
  }
  function told(outcome: ReceiverOutcome): void {
    call(onOutcome, outcome, (error) => write(`onOutcome threw ${kindOf(error)}; it must not throw.`));
  }
  /** One line for each cause and minute, whatever arrives: the causes are ours, so there are few. */
  function writeRarely(cause: Cause, line: string): void {
    const nowMs = currentMs();
    const last = lastLines.get(cause);
    if (last !== undefined && !(nowMs - last.atMs >= logPauseMs)) {
      last.suppressed++;
      return;
    }
    const suppressed = last?.suppressed ?? 0;
    lastLines.set(cause, { atMs: nowMs, suppressed: 0 });
    write(suppressed === 0 ? line : `${line} (${suppressed} more since the last line about this.)`);
  }
  function currentMs(): number {
    try {
      return monotonicNow?.() ?? performance.now();
    } catch {
      return Number.NaN; // a clock that fails must not change the response
    }
  }
  return {
    /** Puts an outcome together only when somebody listens. */
    report(outcome: () => Outcome, { status }: Answer, beganMs: number): void {
      if (onOutcome === undefined) return;
      try {
        told({ ...outcome(), status, durationMs: performance.now() - beganMs });
      } catch (error) {
        write(`the outcome could not be told (${placeOf(error)}).`);
      }
    },
    /** For who counts no outcomes: without a line, a wrong secret looks like silence. An `invalid-payload` has its own line. */
    rejected(reason: Rejection, skewSeconds: number | undefined): void {
      if (onOutcome !== undefined || reason === "invalid-payload") return;
      writeRarely(reason, `rejected: ${describeRejection(reason, skewSeconds)}`);
    },
    /** Without it a 503 for `accept` that takes too long would say nothing. */
    handlerTooSlow(): void {
      if (onOutcome !== undefined) return;
      writeRarely(
        "handler-too-slow",
        "accept or the inbox took longer than answerWithinMs; responded 503, so the service delivers it again. For long work use an inbox.",
      );
    },
    /** What to do about a handler that threw: the service delivers again, or nobody does. */
    handlerFailed(event: { id: string; type: string }, error: unknown, whatFollows: string): void {
      write(`${printable(event.type)} ${printable(event.id)} failed in ${placeOf(error)}; ${whatFollows}`);
    },
    /** Once for each type: whatever is wrong is wrong with all of them, and `onOutcome` counts. */
    dataDiffers({ id, type }: { id: string; type: string }, paths: readonly string[]): void {
      if (typesWithUnexpectedData.has(type)) return;
      typesWithUnexpectedData.add(type);
      write(
        `the data of ${type} ${printable(id)} differs from the contract at ${paths.join(", ")}. It is delivered all the same: isKnownEvent is false for it, and onEvents gives it to "unknown", else to "other". Look for a newer version of this package. Further events of this type are only in onOutcome, as unexpectedData.`,
      );
    },
    notAnEvent(why: string): void {
      write(
        `a delivery was signed with the right secret and is no event: ${why}. Answered 400; the service delivers it again.`,
      );
    },
    processFailed(event: { id: string; type: string }, error: unknown): void {
      this.handlerFailed(
        event,
        error,
        "it was acknowledged already, so nobody delivers it again: use an inbox.",
      );
      told({ outcome: "process-failed", event, error, status: 204, durationMs: 0 });
    },
    /** `whatFollows` says what the sender was told. */
    unexpectedError(error: unknown, whatFollows: string): void {
      write(`the receiver failed in ${placeOf(error)}; ${whatFollows}`);
    },
    /** Rarely, too: whoever sends a header of the right form meets a mistake in the configuration. */
    misconfigured(cause: Cause, what: string, fix: string | undefined): void {
      writeRarely(cause, `${what}${fix === undefined ? "" : ` ${fix}`}`);
    },
  };
}

/** Text of an event on one line of a log, and not more than its beginning: nobody can write lines of ours with it. */
const printable = (text: string) =>
  text.slice(0, 100).replace(/[\p{Other}\p{Line_Separator}\p{Paragraph_Separator}]/gu, "\ufffd");

/** A listener can neither cost a delivery nor end the process, not even by a promise that rejects later. */
function call<Told>(
  listener: ((told: Told) => unknown) | undefined,
  told: Told,
  onError: (error: unknown) => void,
): void {
  try {
    const result = listener?.(told);
    // Also promises of other makes and realms, which are no instances of ours.
    if (typeof result === "object" && result !== null && "then" in result)
      Promise.resolve(result).catch(onError);
  } catch (error) {
    onError(error);
  }
}

function kindOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.name) : typeof error;
  } catch {
    return "an error that cannot be read";
  }
}

/** The kind of an error and where it was thrown, without its text: that may quote a customer. */
function placeOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return `a handler that threw ${error === null ? "null" : typeof error}`;
    // Only behind the text: a text of several lines can look like a stack.
    const { stack = "", message } = error;
    const behind = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : "";
    const frame = /^\s+at (.+)$/m.exec(behind)?.[1] ?? "an unknown place";
    return `${frame} (${error.name})`;
  } catch {
    return "an unknown place (an error that cannot be read)";
  }
}

export type Reporter = ReturnType<typeof reporter>;

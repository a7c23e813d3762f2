/** Tells the program what became of each delivery: figures for metrics, and a log line when the program is at fault. */
import type { Answer } from "./answer.ts";
import type { RawBodyFault } from "./raw-body.ts";
import type { VerificationFault } from "./verification-error.ts";

/** What is known once a delivery is verified. */
export interface VerifiedFacts {
  event: { id: string; type: string };
  /** The `id` given with the secret that matched, if it has one. */
  secretId: string | undefined;
  /** Our clock minus the signature's, in seconds. */
  skewSeconds: number;
  /** The unsigned `Service-Event` header named another type than the body. */
  contradictsHeader: boolean;
}

/** Why a delivery was not even judged an event, or not in time. */
export type Rejection =
  | VerificationFault
  | Exclude<RawBodyFault, "already-consumed">
  | "not-post"
  | "encoded"
  | "too-slow";

export type Misconfiguration = "already-consumed" | "no-secret" | "secret-too-slow";

export type Outcome =
  | ({ outcome: "verified" | "stored" | "duplicate" | "in-progress" } & VerifiedFacts)
  | ({ outcome: "failed"; reason: "too-slow" } & VerifiedFacts)
  /** `error` is what `accept`, the inbox or the dedupe store threw. */
  | ({ outcome: "failed"; reason: "not-taken-over"; error: unknown } & VerifiedFacts)
  | { outcome: "rejected"; reason: Rejection }
  | { outcome: "misconfigured"; reason: Misconfiguration }
  /** `error` is what `process` threw. */
  | { outcome: "process-failed"; event: { id: string; type: string }; error: unknown };

/** One delivery, as metrics see it. `status` is the answer; `durationMs` ends with it. */
export type ReceiverOutcome = Outcome & { status: number; durationMs: number };

export interface ReportOptions {
  onOutcome?: (outcome: ReceiverOutcome) => void;
  log?: (message: string) => void;
}

export function reporter({ onOutcome, log = console.error }: ReportOptions) {
  /** Whoever listens can neither cost a delivery nor take the process down. */
  function tell<Told>(listener: ((told: Told) => unknown) | undefined, told: Told): string | undefined {
    try {
      const result = listener?.(told);
      if (result instanceof Promise) result.catch(() => {});
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.name : typeof error;
    }
  }
  function write(line: string): void {
    tell(log, `webhook-verify: ${line}`);
  }
  function told(outcome: ReceiverOutcome): void {
    const thrown = tell(onOutcome, outcome);
    if (thrown !== undefined) write(`onOutcome threw ${thrown}; it must not throw.`);
  }
  return {
    /** Puts an outcome together only when somebody listens. */
    report(outcome: () => Outcome, { status }: Answer, beganMs: number): void {
      if (onOutcome !== undefined) told({ ...outcome(), status, durationMs: performance.now() - beganMs });
    },
    /** What to do about a handler that threw: the service delivers again, or nobody does. */
    handlerFailed(event: { id: string; type: string }, error: unknown, whatFollows: string): void {
      write(`${event.type} ${event.id} failed in ${placeOf(error)}; ${whatFollows}`);
    },
    processFailed(event: { id: string; type: string }, error: unknown): void {
      this.handlerFailed(
        event,
        error,
        "it was acknowledged already, so nobody delivers it again: use an inbox.",
      );
      told({ outcome: "process-failed", event, error, status: 204, durationMs: 0 });
    },
    misconfigured(what: string, fix: string | undefined): void {
      write(`${what}${fix === undefined ? "" : ` ${fix}`}`);
    },
  };
}

/** The kind of an error and where it was thrown, without its text: that may quote a customer. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return `a handler that threw ${error === null ? "null" : typeof error}`;
  // Only behind the text: a text of several lines can look like a stack.
  const { stack = "", message } = error;
  const behind = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : "";
  const frame = /^\s+at (.+)$/m.exec(behind)?.[1] ?? "an unknown place";
  return `${frame} (${error.name})`;
}

export type Reporter = ReturnType<typeof reporter>;

/** Tells the program what became of each event: figures for metrics, and a log line when somebody has to look. */
import { placeOf } from "./failure.ts";

/** Which event it was. */
export interface EventName {
  id: string;
  type: string;
}

/** What happened to one event. Carries ids and times, and no personal data but what an error's text may hold. */
export type InboxOutcome =
  /** It is durable; the receiver may answer 204. */
  | { outcome: "stored" | "duplicate"; event: EventName; durationMs: number }
  /** It could not be made durable; the receiver answers 503 and the service delivers again. */
  | { outcome: "not-stored"; event: EventName; durationMs: number; error: unknown }
  /** Its handler ran, and its effect stands. `lagMs` is the time since it was received. */
  | { outcome: "done"; event: EventName; attempt: number; durationMs: number; lagMs: number }
  /** Its handler failed; it is tried again after `retryInMs`, where this inbox knows that. */
  | { outcome: "failed"; event: EventName; attempt: number; error: unknown; retryInMs?: number }
  /** It is a dead letter now: nobody tries it again until somebody replays it. */
  | { outcome: "dead"; event: EventName; attempt: number; error: unknown }
  /** Another worker took it meanwhile; what this one wrote was rolled back. */
  | { outcome: "lease-lost"; event: EventName; attempt: number }
  /** The inbox itself could not be reached; the worker goes on trying. */
  | { outcome: "unavailable"; error: unknown };

export interface ReportOptions {
  /** Told of every event, for metrics. It must not throw. */
  onOutcome?: (outcome: InboxOutcome) => void;
  /** Where faults are reported, with their place but not their text. Default `console.error`. */
  log?: (message: string) => void;
}

export type Report = (outcome: InboxOutcome) => void;

export function reporter({ onOutcome, log = console.error }: ReportOptions): Report {
  const write = (line: string) => void tell(log, `webhook-inbox: ${line}`);
  return (outcome) => {
    const thrown = tell(onOutcome, outcome);
    if (thrown !== undefined) write(`onOutcome threw ${thrown}; it must not throw.`);
    const line = lineOf(outcome);
    if (line !== undefined) write(line);
  };
}

function lineOf(outcome: InboxOutcome): string | undefined {
  switch (outcome.outcome) {
    case "failed":
      return `${nameOf(outcome.event)} failed in attempt ${outcome.attempt}: ${placeOf(outcome.error)}`;
    case "dead":
      return `${nameOf(outcome.event)} is a dead letter after attempt ${outcome.attempt}: ${placeOf(outcome.error)}`;
    case "unavailable":
      return `the inbox cannot be reached: ${placeOf(outcome.error)}`;
    default:
      return undefined; // the receiver logs what it could not store
  }
}

const nameOf = ({ id, type }: EventName) => `${printable(type)} ${printable(id)}`;

/** Text of an event on one line, and not more than its beginning. */
const printable = (text: string) =>
  text.slice(0, 100).replace(/[\p{Other}\p{Line_Separator}\p{Paragraph_Separator}]/gu, "\ufffd");

/** Whoever listens can neither cost an event nor take the process down. */
function tell<Told>(listener: ((told: Told) => unknown) | undefined, told: Told): string | undefined {
  try {
    const result = listener?.(told);
    if (result instanceof Promise) result.catch(() => {});
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.name : typeof error;
  }
}

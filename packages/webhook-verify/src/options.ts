/** The options of a receiver: their defaults and validation. */
import { requireKnownOptions } from "@loyalty-cards/internal/nearest-name";
import { maxTimerMs } from "@loyalty-cards/internal/timer-limit";
import { readClock } from "./clock.ts";
import type { DedupeStore, Delivery, Inbox } from "./dedupe.ts";
import type { WebhookEvent } from "./event.ts";
import type { ReceiverOutcome } from "./outcome.ts";
import { createSecretSource, type SecretOption } from "./secrets.ts";
import { parseTolerance } from "./verify.ts";

/** Which secret to trust, and what to do with an event before and after the response. */
export interface ReceiverOptions {
  /** The signing secret, several, or a function that loads them; its result is used for `secretMaxAgeSeconds`. */
  secret: SecretOption;
  /**
   * How long the result of a `secret` function is used, in seconds. Default 300. Then the function is called again before anything
   * is verified, so that a replaced or leaked secret stops working in every process, even in one without deliveries. When the
   * function fails then, the response is 500 and the service delivers again. After four fifths of the time the function is called in
   * the background, so that deliveries rarely wait for it.
   */
  secretMaxAgeSeconds?: number;
  /** How far `t` may differ from the current time, in either direction, in seconds. Default 300. */
  toleranceSeconds?: number;
  /** Larger bodies are rejected with 413 and not read. In bytes, default 1 MiB. */
  maxBodyBytes?: number;
  /** The current time in milliseconds, as a number. Default `Date.now`. Validated here and for each delivery. */
  now?: () => number;
  /**
   * Milliseconds of a monotonic clock, for the age of loaded secrets, the pauses between calls of the `secret` function and between
   * log lines. Default `performance.now`. Tests pass their own.
   */
  monotonicNow?: () => number;
  /** A durable store; the receiver responds when it has stored the event. */
  inbox?: Inbox;
  /** Called and awaited before the response; its result is ignored. When it rejects, the response is 503 and the service delivers again. */
  handler?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Called after the response, and lost when the process dies: use an inbox when that matters. */
  afterResponse?: (event: WebhookEvent, delivery: Delivery) => unknown;
  /** Stores event ids, so that `handler` and `afterResponse` are called once per event. */
  dedupe?: DedupeStore;
  /** After this many milliseconds the response is 503 and the service delivers again. Default 8 000; the service waits 10 000. */
  timeoutMs?: number;
  /**
   * Adds the messages of errors to the log lines about `handler`, `afterResponse`, the inbox and the `secret` function. Default false:
   * these messages can contain personal data. Messages of this SDK's own errors contain none and are always logged.
   */
  logErrorMessages?: boolean;
  /**
   * Called with the outcome of every delivery, for metrics. Contains no personal data. Without it, rejected deliveries are logged:
   * at most one line a minute for each reason, with the number of suppressed lines.
   */
  onOutcome?: (outcome: ReceiverOutcome) => void;
  /** Called with errors of the program, each with its fix. Default `console.error`. */
  log?: (message: string) => void;
}

/** The function that creates a receiver, for messages, and what its options have beside those of every receiver. */
export interface ReceiverKind {
  name: string;
  ownOptions?: readonly string[];
  /** The caller of the function can handle the event itself, so no handler is needed. */
  returnsEvent?: true;
  /** Default true. False where nothing may run between deliveries: a `secret` function is called with the first one. */
  triesSecretAtStart?: boolean;
}

const optionTypes = {
  secret: "",
  secretMaxAgeSeconds: "",
  toleranceSeconds: "",
  maxBodyBytes: "",
  now: "function",
  monotonicNow: "function",
  inbox: "",
  handler: "function",
  afterResponse: "function",
  dedupe: "",
  timeoutMs: "",
  logErrorMessages: "",
  onOutcome: "function",
  log: "function",
} satisfies Record<keyof ReceiverOptions, "function" | "">;

/** Validates the options and applies the defaults. */
export function parseOptions(options: ReceiverOptions, kind: ReceiverKind) {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${kind.name} needs options: { secret, handler }.`);
  requireKnownOptions(kind.name, options, [...Object.keys(optionTypes), ...(kind.ownOptions ?? [])]);
  requireFunctions(options);
  const { now = Date.now, maxBodyBytes = 1024 * 1024, timeoutMs = 8_000 } = options;
  const { secretMaxAgeSeconds = 300, monotonicNow = () => performance.now() } = options;
  const toleranceSeconds = parseTolerance(options.toleranceSeconds);
  requireLimit("maxBodyBytes", maxBodyBytes);
  requireLimit("timeoutMs", timeoutMs, maxTimerMs);
  requireLimit("secretMaxAgeSeconds", secretMaxAgeSeconds);
  readClock("monotonicNow", monotonicNow);
  const secretSource = createSecretSource(options.secret, {
    maxAgeMs: secretMaxAgeSeconds * 1000,
    monotonicNow: () => readClock("monotonicNow", monotonicNow),
  });
  readClock("now", now); // reports an invalid clock here, not with the first delivery
  requireHandler(options, kind);
  return { now, maxBodyBytes, timeoutMs, toleranceSeconds, secretSource };
}

function requireFunctions(options: ReceiverOptions): void {
  for (const [name, value] of Object.entries(options)) {
    const type: string = optionTypes[name as keyof ReceiverOptions] ?? "";
    if (type === "" || typeof value === type || (value === undefined && !lostWithout.includes(name)))
      continue;
    throw new TypeError(
      `${name} must be a function; it is ${value === null ? "null" : typeof value}. Omit it, or check where it comes from.`,
    );
  }
}

/** Undefined is an import or a property that does not exist; the events would be lost. */
const lostWithout = ["handler", "afterResponse"];

/** Whether something handles the events: otherwise they are lost after the response. */
export const hasHandler = ({ handler, afterResponse, inbox }: ReceiverOptions): boolean =>
  (handler ?? afterResponse ?? inbox) !== undefined;

function requireHandler(options: ReceiverOptions, { name, returnsEvent }: ReceiverKind): void {
  const { inbox, dedupe } = options;
  if ("inbox" in options && typeof inbox?.put !== "function")
    throw new TypeError("inbox must have a method put. Omit it, or check where it comes from.");
  if (
    "dedupe" in options &&
    !(["begin", "complete", "abandon"] as const).every((method) => typeof dedupe?.[method] === "function")
  ) {
    throw new TypeError(
      "dedupe must have the methods begin, complete and abandon, as memoryDedupe() has. Omit it, or check where it comes from.",
    );
  }
  if (hasHandler(options)) return;
  if (returnsEvent === undefined) {
    throw new TypeError(
      `${name} has nothing that handles the events, so they would be lost: pass handler, afterResponse or inbox, such as { secret, handler: onEvents({ … }) }.`,
    );
  }
  if (dedupe !== undefined) {
    throw new TypeError(
      "dedupe needs handler, afterResponse or inbox: the receiver cannot know whether the code after it succeeds.",
    );
  }
}

function requireLimit(name: string, value: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isFinite(value) && value > 0 && value <= max) return;
  throw new TypeError(`${name} must be a positive number, at most ${max}; it is ${value}.`);
}
